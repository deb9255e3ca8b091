/* optim: AdamW against an independent calculation, clipping, and the same bits for any threads. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "src/optim.h"
#include "src/rng.h"

#ifdef REAL_DOUBLE
static const double precision = 1e-14, smallest_normal = DBL_MIN;
#else
static const double precision = 3e-7, smallest_normal = (double)FLT_MIN;
#endif

/* The values are those of this script (Python 3, doubles), which is written from the documentation
   of torch.optim.AdamW and not from optim.c; tinygrad 0.14 gives the same to 1e-7:

from math import sqrt
w = [1.0, -0.5, 0.25, 2.0]; m = [0.0] * 4; v = [0.0] * 4
G = [[0.5, -0.25, 1e-3, -2.0], [0.125, 0.75, -1e-3, 4.0], [-1.0, 0.0, 2e-3, 0.5]]
lr, b1, b2, eps, wd = [0.1, 0.05, 0.025], 0.9, 0.98, 1e-3, 0.1
for t in 1, 2, 3:
    for i in range(4):
        g = G[t - 1][i]
        if i < 2: w[i] *= 1 - lr[t - 1] * wd
        m[i] = b1 * m[i] + (1 - b1) * g; v[i] = b2 * v[i] + (1 - b2) * g * g
        w[i] -= lr[t - 1] / (1 - b1**t) * m[i] / (sqrt(v[i]) / sqrt(1 - b2**t) + eps)
    print(*w)
print(m, v)
*/
START_TEST(adamw_golden) {
    static const double gradients[3][4] = {
        {0.5, -0.25, 1e-3, -2.0}, {0.125, 0.75, -1e-3, 4.0}, {-1.0, 0.0, 2e-3, 0.5}};
    static const double rates[3] = {0.1, 0.05, 0.025};
    static const double expected[3][4] = {
        {0.8901996007984032, -0.39539840637450197, 0.2, 2.099950024987506},
        {0.8441562571893562, -0.41799281658606524, 0.20131578947368423, 2.0817030821225133},
        {0.8488475101901914, -0.4264869027550901, 0.19403892310920326, 2.072883718504639}};
    static const double means[4] = {-0.04825, 0.04725, 0.000191, 0.248};
    static const double squares[4] = {0.02510825, 0.0122255, 1.18808e-07, 0.395432};

    /* Two elements of padding between the groups. */
    real w[6] = {1, (real)-0.5, 7, 7, (real)0.25, 2}, m[6] = {0}, v[6] = {0};
    static const size_t at[4] = {0, 1, 4, 5};
    OptimGroup groups[] = {{0, 2, true}, {4, 2, false}};
    OptimSettings settings = {.beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-3, .weight_decay = 0.1};
    for (int step = 1; step <= 3; step++) {
        real g[6] = {0, 0, 1, 1, 0, 0};
        for (int i = 0; i < 4; i++) g[at[i]] = (real)gradients[step - 1][i];
        optim_step(2, groups, &settings, step, rates[step - 1], 1, w, g, m, v);
        for (int i = 0; i < 4; i++)
            ck_assert_double_eq_tol((double)w[at[i]], expected[step - 1][i], 4 * precision);
    }
    for (int i = 0; i < 4; i++) {
        ck_assert_double_eq_tol((double)m[at[i]], means[i], precision * fabs(means[i]) * 4);
        ck_assert_double_eq_tol((double)v[at[i]], squares[i], precision * squares[i] * 4);
    }
    for (int i = 2; i < 4; i++) ck_assert(w[i] == 7 && m[i] == 0 && v[i] == 0);
}
END_TEST

/* The first step is rate * g / (|g| + epsilon), whatever the size of the gradient: the bias
   correction is exact, and epsilon stands outside the root. */
START_TEST(first_step) {
    static const double gradients[] = {1e-6, 1e-3, 1, 1e6};
    OptimGroup group = {0, 4, true};
    OptimSettings settings = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-6};
    real w[4] = {0}, g[4], m[4] = {0}, v[4] = {0};
    for (int i = 0; i < 4; i++) g[i] = (real)gradients[i];
    optim_step(1, &group, &settings, 1, 0.5, 1, w, g, m, v);
    for (int i = 0; i < 4; i++) {
        double expected = -0.5 * gradients[i] / (gradients[i] + 1e-6);
        ck_assert_double_eq_tol((double)w[i], expected, 4 * precision);
    }
}
END_TEST

START_TEST(zero_rate_changes_nothing) {
    OptimGroup group = {0, 3, true};
    OptimSettings settings = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.5};
    const real before[3] = {(real)0.1, (real)-3.7, (real)1e-20};
    real w[3], g[3] = {1, -2, 3}, m[3] = {0}, v[3] = {0};
    memcpy(w, before, sizeof w);
    for (int step = 1; step <= 5; step++) optim_step(1, &group, &settings, step, 0, 1, w, g, m, v);
    ck_assert_mem_eq(w, before, sizeof w);
    ck_assert(m[2] > 1);
}
END_TEST

START_TEST(clipping) {
    /* Below and at the threshold clipping is the identity, bit for bit. */
    ck_assert(optim_clip_scale(0.75, 1) == 1);
    ck_assert(optim_clip_scale(1, 1) == 1);
    ck_assert(optim_clip_scale(0, 1) == 1);
    ck_assert(optim_clip_scale(1e30, 0) == 1);
    ck_assert(optim_clip_scale(4, 1) == 0.25);

    /* The scale acts on the gradient: a power of two gives the bits of a scaled gradient. */
    OptimGroup group = {0, 5, true};
    OptimSettings settings = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-3, .weight_decay = 0.1};
    real w[2][5], g[2][5], m[2][5] = {{0}}, v[2][5] = {{0}};
    Rng rng = rng_stream(1, RNG_TEST, 0, 0);
    for (int i = 0; i < 5; i++) {
        w[0][i] = w[1][i] = (real)rng_normal(&rng);
        g[0][i] = (real)rng_normal(&rng);
        g[1][i] = g[0][i] / 4;
    }
    optim_step(1, &group, &settings, 1, 0.1, 0.25, w[0], g[0], m[0], v[0]);
    optim_step(1, &group, &settings, 1, 0.1, 1, w[1], g[1], m[1], v[1]);
    ck_assert_mem_eq(w[0], w[1], sizeof w[0]);
    ck_assert_mem_eq(m[0], m[1], sizeof m[0]);
    ck_assert_mem_eq(v[0], v[1], sizeof v[0]);
}
END_TEST

START_TEST(norms) {
    ck_assert(optim_norm(0, NULL) == 0);
    ck_assert(optim_norm(2, (real[]){3, -4}) == 5);
    /* 1² + 2² + … + n² = n (n + 1) (2n + 1) / 6, every term and sum a whole double; counts around
       the lanes and the parts of the sum. */
    static const size_t counts[] = {1, 15, 16, 17, 255, 256, 257, 4095, 4096, 4097, 10000};
    real *g = ALLOCATE(10000, real);
    for (int i = 0; i < 10000; i++) g[i] = (real)(i % 2 ? i + 1 : -(i + 1));
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        double n = (double)counts[k];
        ck_assert_double_eq(optim_norm(counts[k], g), sqrt(n * (n + 1) * (2 * n + 1) / 6));
    }
#ifndef REAL_DOUBLE
    real large[] = {(real)3e30, (real)4e30};
    ck_assert_double_eq_tol(optim_norm(2, large), 5e30, 1e24);
#endif
    free(g);
}
END_TEST

START_TEST(nonfinite) {
    real g[100] = {0};
    ck_assert_uint_eq(optim_find_nonfinite(100, g), 100);
    g[99] = (real)INFINITY;
    ck_assert_uint_eq(optim_find_nonfinite(100, g), 99);
    ck_assert(isinf(optim_norm(100, g)));
    g[40] = (real)NAN;
    ck_assert_uint_eq(optim_find_nonfinite(100, g), 40);
    ck_assert(isnan(optim_norm(100, g)));
}
END_TEST

/* Without gradients moments decay to exactly 0 and never pass through subnormal numbers. */
START_TEST(no_subnormal_moments) {
    OptimGroup group = {0, 1, false};
    OptimSettings settings = {.beta1 = 0.5, .beta2 = 0.25, .epsilon = 1e-8};
    real w[1] = {1}, g[1] = {1}, m[1] = {0}, v[1] = {0};
    for (int step = 1; step <= 1100; step++) {
        optim_step(1, &group, &settings, step, 0, 1, w, g, m, v);
        g[0] = 0;
        ck_assert(m[0] == 0 || (double)m[0] >= smallest_normal);
        ck_assert(v[0] == 0 || (double)v[0] >= smallest_normal);
        if (step == 1) ck_assert(m[0] > 0 && v[0] > 0);
    }
    ck_assert(m[0] == 0 && v[0] == 0);
}
END_TEST

enum { COUNT = 100003 };
/* Of all sizes, cut by the blocks of 8192 and not, aligned and not; one place lies in none. */
static const OptimGroup many[] = {{0, 3, true},        {3, 8188, false},  {8191, 1, true},
                                  {8192, 40001, true}, {48194, 1, false}, {48195, 51808, true}};
enum { MANY = sizeof many / sizeof *many };
static const OptimSettings usual = {
    .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.1};

/* Parameters, gradients and zero moments, COUNT of each. */
static real *random_arrays(void) {
    real *all = ALLOCATE(4 * COUNT, real);
    Rng rng = rng_stream(7, RNG_TEST, 1, 0);
    for (int i = 0; i < 2 * COUNT; i++) all[i] = (real)(rng_uniform(&rng) - 0.5);
    return all;
}

/* All groups at once, or pieces of a few elements each: every element gets one update. */
START_TEST(every_element_once) {
    real *whole = random_arrays(), *pieces = random_arrays();
    for (int step = 1; step <= 2; step++) {
        optim_step(MANY, many, &usual, step, 1e-3, 1, whole, whole + COUNT, whole + 2 * COUNT,
                   whole + 3 * COUNT);
        for (int k = 0; k < MANY; k++)
            for (size_t from = 0; from < many[k].count; from += 1000) {
                real *at = pieces + many[k].offset + from;
                OptimGroup piece = {0, least(1000, many[k].count - from), many[k].decay};
                optim_step(1, &piece, &usual, step, 1e-3, 1, at, at + COUNT, at + 2 * COUNT,
                           at + 3 * COUNT);
            }
    }
    ck_assert_int_eq(memcmp(whole, pieces, 4 * COUNT * sizeof(real)), 0);
    ck_assert(whole[2 * COUNT + 48193] == 0 && whole[2 * COUNT + 48194] != 0);
    free(whole);
    free(pieces);
}
END_TEST

START_TEST(same_bits_for_any_threads) {
    static const int threads[] = {1, 2, 3, 5};
    real *first = NULL;
    double first_norm = 0;
    int threads_before = omp_get_max_threads();
    for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
        omp_set_num_threads(threads[k]);
        real *all = random_arrays();
        double norm = optim_norm(COUNT, all + COUNT);
        for (int step = 1; step <= 3; step++)
            optim_step(MANY, many, &usual, step, 1e-3, optim_clip_scale(norm, 1), all, all + COUNT,
                       all + 2 * COUNT, all + 3 * COUNT);
        if (!first) {
            first = all;
            first_norm = norm;
            /* Uniform on [-0.5, 0.5): a variance of 1/12. */
            ck_assert_double_eq_tol(norm, sqrt(COUNT / 12.0), 0.5);
            continue;
        }
        ck_assert(norm == first_norm);
        ck_assert_int_eq(memcmp(first, all, 4 * COUNT * sizeof(real)), 0);
        free(all);
    }
    free(first);
    omp_set_num_threads(threads_before);
}
END_TEST

Suite *suite_optim(void);
Suite *suite_optim(void) {
    Suite *suite = suite_create("optim");
    TCase *tests = tcase_create("optim");
    tcase_add_test(tests, adamw_golden);
    tcase_add_test(tests, first_step);
    tcase_add_test(tests, zero_rate_changes_nothing);
    tcase_add_test(tests, clipping);
    tcase_add_test(tests, norms);
    tcase_add_test(tests, nonfinite);
    tcase_add_test(tests, no_subnormal_moments);
    tcase_add_test(tests, every_element_once);
    tcase_add_test(tests, same_bits_for_any_threads);
    suite_add_tcase(suite, tests);
    return suite;
}
