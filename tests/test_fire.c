/* fire: against the paper's formula, its limits, and itself by another way. */
#include "tests/attention_probe.h"
#include "tests/golden.h"
#include "tests/tolerance.h"
#include "tests/vectors/fire.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { LENGTH = 300 }; /* two tiles of keys, query blocks of 64 rows, the last one ragged */

START_TEST(papers) { golden_compare(&fire_cases[_i]); }
END_TEST

/* c = 0 too: the denominator is then 1e-6 alone. */
START_TEST(without_parameters_it_is_nope) {
    for (int causal = 0; causal < 2; causal++) {
        GoldenAttention a = golden_attention("fire", "", LENGTH, causal, NULL, 0);
        GoldenAttention nope = golden_attention("nope", "", LENGTH, causal, NULL, 0);
        golden_equal(&a, &nope, 0);
        golden_attention_free(&a);
        golden_attention_free(&nope);
    }
}
END_TEST

static void set(Model *model, const char *name, size_t count, const double *values) {
    real *to = probe_parameter(model, name);
    for (size_t n = 0; n < count; n++) to[n] = (real)values[n];
}
#define SET(model, name, ...)                                                                      \
    set(model, name, COUNT(((double[]){__VA_ARGS__})), (double[]){__VA_ARGS__})

/* A model of two heads of width 2, scores of q = k = 0. */
static SmallModelOwner *biased(const char *encoding, const char *options) {
    const Encoding *e = encoding_find(encoding);
    const KindOptions chosen = golden_options(e, options);
    return small_model_create(&(SmallModel){
        .encoding = e, .encoding_options = &chosen, .layers = 1, .heads = 2, .head_width = 2});
}
static void bias_at(Model *model, size_t length, const double *positions, double *score) {
    double *zero = ALLOCATE(2 * length * 2, double);
    attention_probe(model, &(AttentionProbe){.length = length,
                                             .q = zero,
                                             .k = zero,
                                             .v = zero,
                                             .positions = positions,
                                             .score = score});
    free(zero);
}
static void bias_of(Model *model, size_t length, double *score) {
    bias_at(model, length, NULL, score);
}

/* Two units without a kink above 0: f_h(x) = out_h x + bias_h, so up to L0 the bias is that of
   kerple with r1 = -out / psi(L0), r2 = c. */
START_TEST(a_linear_function_is_kerple) {
    const double c = 0.25, psi = log1p(c * 400) + 1e-6;
    SmallModelOwner *fire = biased("fire", "hidden=2 threshold=400");
    SmallModelOwner *kerple = biased("kerple", "kernel=log");
    SET(fire->model, "c", c);
    SET(fire->model, "multiplier", 1);
    SET(fire->model, "in_weight", 2, -1);
    SET(fire->model, "in_bias", 0, -3); /* the second unit is never above 0 */
    SET(fire->model, "out_weight", -3, -1.5, 7, 7);
    SET(fire->model, "out_bias", 0, 0);
    SET(kerple->model, "r1", 6 / psi, 3 / psi);
    SET(kerple->model, "r2", c, c);
    const size_t square = 2 * LENGTH * LENGTH;
    double *found = ALLOCATE(square, double), *wanted = ALLOCATE(square, double);
    bias_of(fire->model, LENGTH, found);
    bias_of(kerple->model, LENGTH, wanted);
    for (size_t i = 0; i < square; i++)
        if (!isinf(wanted[i]))
            ck_assert_double_eq_tol(found[i], wanted[i], TOLERANCE(2e-6, 1e-13));
    free(found);
    free(wanted);
    small_model_free(fire);
    small_model_free(kerple);
}
END_TEST

/* A tiny c: psi is a straight line, and with c = 0 the denominator is 1e-6 alone. Kinks stay where
   they are, one of them at an argument of 0.02. */
START_TEST(c_near_zero) {
    double positions[LENGTH], *score = ALLOCATE(2 * LENGTH * LENGTH, double);
    for (size_t i = 0; i < LENGTH; i++)
        positions[i] = (fire_near_zero[_i].fractions ? 1.37 : 1) * (double)i;
    SmallModelOwner *fire = biased("fire", "hidden=32 threshold=100");
    for (int i = 0; i < fire->model->parameter_count; i++) {
        const Parameter *p = &fire->model->parameters[i];
        for (size_t n = 0; p->encoding_index >= 0 && n < p->count; n++)
            fire->model->values[p->offset + n] = (real)golden_wave(11 + p->encoding_index, n);
    }
    SET(fire->model, "c", fire_near_zero[_i].c);
    SET(fire->model, "multiplier", 1);
    SET(fire->model, "in_weight", 1);
    SET(fire->model, "in_bias", -0.02);
    bias_at(fire->model, LENGTH, positions, score);
    static const size_t rows[] = {46, 299};
    for (size_t n = 0, row = 0; row < COUNT(rows); row++)
        for (size_t j = 0; j <= rows[row]; j += 23, n++)
            for (size_t h = 0; h < 2; h++)
                ck_assert_double_eq_tol(score[(h * LENGTH + rows[row]) * LENGTH + j],
                                        fire_near_zero[_i].bias[n][h], TOLERANCE_ATTENTION);
    free(score);
    small_model_free(fire);
}
END_TEST

/* A query past L0 sees the first token at argument 1 and itself at 0, wherever it stands. */
START_TEST(arguments_stay_within_one) {
    SmallModelOwner *fire = biased("fire", "hidden=3 threshold=50");
    SET(fire->model, "c", -0.1);
    SET(fire->model, "multiplier", -1.2); /* L0 = 60 */
    SET(fire->model, "in_weight", 2, -1, 1);
    SET(fire->model, "in_bias", -1, 0.5, 0.25);
    SET(fire->model, "out_weight", 1, 0.5, 2, 0, -1, 1);
    SET(fire->model, "out_bias", 0.125, 0);
    /* head 0: max(2x - 1, 0) + 2 max(0.5 - x, 0) - max(x + 0.25, 0) + 0.125 */
    const double at_zero[] = {1 - 0.25 + 0.125, 0.25}, at_one[] = {1 - 1.25 + 0.125, 0.5 + 1.25};
    double *score = ALLOCATE(2 * LENGTH * LENGTH, double);
    bias_of(fire->model, LENGTH, score);
    for (size_t h = 0; h < 2; h++)
        for (size_t i = 0; i < LENGTH; i++) {
            const double *row = score + (h * LENGTH + i) * LENGTH;
            ck_assert_double_eq_tol(row[i], at_zero[h], TOLERANCE_OP);
            if (i >= 60) ck_assert_double_eq_tol(row[0], at_one[h], 4e-6); /* 1e-6 below 1 */
            if (i == 40) ck_assert_double_gt(fabs(row[0] - at_one[h]), 1e-2);
        }
    free(score);
    small_model_free(fire);
}
END_TEST

/* golden parameters make L0 0.54 thresholds. */
START_TEST(only_distances_count_up_to_the_threshold) {
    double here[LENGTH], there[LENGTH];
    for (size_t i = 0; i < LENGTH; i++) {
        here[i] = (double)(_i ? i * i % 311 : i);
        there[i] = here[i] + 100;
    }
    GoldenAttention a = golden_attention("fire", "threshold=1000", LENGTH, true, here, 1);
    GoldenAttention b = golden_attention("fire", "threshold=1000", LENGTH, true, there, 1);
    golden_equal(&a, &b, 0);
    golden_attention_free(&a);
    golden_attention_free(&b);
    a = golden_attention("fire", "threshold=100", LENGTH, true, here, 1);
    b = golden_attention("fire", "threshold=100", LENGTH, true, there, 1);
    double most_apart = 0;
    for (size_t i = 200 * LENGTH; i <= 200 * LENGTH + 200; i++)
        most_apart = fmax(most_apart, fabs(a.score[i] - b.score[i]));
    ck_assert_double_gt(most_apart, 0.01);
    golden_attention_free(&a);
    golden_attention_free(&b);
}
END_TEST

/* Positions that rise by one go through runs of keys; moving the last token sends all through the
   general way, but in a causal model no other row sees that token. */
START_TEST(both_ways_of_tiles_agree) {
    double rising[LENGTH], moved[LENGTH];
    for (size_t i = 0; i < LENGTH; i++) rising[i] = moved[i] = (double)i;
    moved[LENGTH - 1] += 5;
    GoldenAttention a = golden_attention("fire", "threshold=200", LENGTH, _i, rising, 1);
    GoldenAttention b = golden_attention("fire", "threshold=200", LENGTH, _i, moved, 1);
    for (size_t h = 0; h < GOLDEN_HEADS; h++)
        for (size_t i = 0; i + 1 < LENGTH; i++)
            for (size_t j = 0; j + 1 < LENGTH && (!_i || j <= i); j++) {
                const size_t at = (h * LENGTH + i) * LENGTH + j;
                ck_assert_double_eq_tol(a.score[at], b.score[at], TOLERANCE(1e-5, 1e-12));
            }
    double change = 0; /* of the last rows, which did move */
    for (size_t h = 0; h < GOLDEN_HEADS; h++)
        for (size_t j = 0; j + 1 < LENGTH; j++) {
            const size_t at = (h * LENGTH + LENGTH - 1) * LENGTH + j;
            change = fmax(change, fabs(a.score[at] - b.score[at]));
        }
    ck_assert_double_gt(change, 1e-3);
    golden_attention_free(&a);
    golden_attention_free(&b);
}
END_TEST

static void keep_threshold(void *to, const PositionTable *table) {
    if (!strcmp(table->name, "threshold")) *(double *)to = table->values[0];
}

START_TEST(the_threshold_starts_at_half_of_training) {
    static const struct {
        const char *options;
        size_t trained;
        double wanted;
    } cases[] = {{"", 128, 64}, {"", 0, 1}, {"threshold=512", 128, 512}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const Encoding *fire = encoding_find("fire");
        const KindOptions chosen = golden_options(fire, cases[i].options);
        const EncodingShape shape = {.layers = 1,
                                     .heads = 1,
                                     .width = 4,
                                     .head_width = 4,
                                     .trained_length = cases[i].trained,
                                     .options = &chosen};
        EncodingParameter list[ENCODING_PARAMETERS];
        memset(list, 0, sizeof list);
        const int count = fire->parameters(&shape, list);
        real values[ENCODING_PARAMETERS][32];
        const real *layer[ENCODING_PARAMETERS];
        for (int k = 0; k < count; k++) {
            for (size_t n = 0; n < 32; n++) values[k][n] = (real)list[k].mean;
            layer[k] = values[k];
        }
        const real *const *const layers[] = {layer};
        double threshold = 0;
        fire->tables(&shape, layers, 8, keep_threshold, &threshold);
        ck_assert_double_eq(threshold, cases[i].wanted);
    }
}
END_TEST

#ifdef REAL_DOUBLE
static const char *const variants[] = {"threshold=100 hidden=5"};

START_TEST(gradients) { golden_gradients("fire", variants[_i]); }
END_TEST
#endif

Suite *suite_fire(void);

Suite *suite_fire(void) {
    Suite *suite = suite_create("fire");
    TCase *golden = tcase_create("golden");
    tcase_add_loop_test(golden, papers, 0, COUNT(fire_cases));
    suite_add_tcase(suite, golden);

#ifdef REAL_DOUBLE
    TCase *differences = tcase_create("gradients");
    tcase_add_loop_test(differences, gradients, 0, COUNT(variants));
    suite_add_tcase(suite, differences);
#endif

    TCase *properties = tcase_create("properties");
    tcase_add_test(properties, without_parameters_it_is_nope);
    tcase_add_test(properties, a_linear_function_is_kerple);
    tcase_add_loop_test(properties, c_near_zero, 0, COUNT(fire_near_zero));
    tcase_add_test(properties, arguments_stay_within_one);
    tcase_add_loop_test(properties, only_distances_count_up_to_the_threshold, 0, 2);
    tcase_add_loop_test(properties, both_ways_of_tiles_agree, 0, 2);
    tcase_add_test(properties, the_threshold_starts_at_half_of_training);
    suite_add_tcase(suite, properties);
    return suite;
}
