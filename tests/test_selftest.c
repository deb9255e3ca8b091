/* selftest: it holds for every encoding, and each of its checks notices what it is there for. */
#include "src/selftest.h"

#include "src/gemm.h"

#include <check.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

START_TEST(every_encoding) {
    gemm_start();
    const Selftest test = selftest_encoding(encodings[_i]);
    ck_assert_msg(!test.failed, "%s: %d of %d cases, first: %s", encodings[_i]->name, test.failed,
                  test.cases, test.first);
    ck_assert_int_ge(test.cases, 8);
}
END_TEST

/* ---- encodings with one fault ---------------------------------------------------------------- */

static void notices(const Encoding *broken, const char *what) {
    gemm_start();
    const Selftest test = selftest_encoding(broken);
    ck_assert_msg(test.failed && strstr(test.first, what), "%s, \"%s\": %d failed, first: %s",
                  broken->name, what, test.failed, test.first);
}

static const Encoding *right;

static double wrong_scale(const EncodingShape *shape) {
    return 1.01 * (right->scale ? right->scale(shape) : 0.35355339059327379); /* heads of 8 */
}

START_TEST(scores_a_percent_too_large) {
    right = encodings[_i];
    Encoding broken = *right;
    broken.scale = wrong_scale;
    notices(&broken, "from PyTorch's");
}
END_TEST

static void twice_the_gradient(const Site *site, size_t n, const double *distance,
                               const double *dout, real *const *gradients) {
    right->bias_backward(site, n, distance, dout, gradients);
    right->bias_backward(site, n, distance, dout, gradients);
}

START_TEST(wrong_gradient) {
    right = encoding_find("t5");
    Encoding broken = *right;
    broken.bias_backward = twice_the_gradient;
    notices(&broken, "along encoding/t5/bias");
}
END_TEST

/* What odd distances have learned is lost: those below 16 have a row each. */
static void half_of_the_rows(const Site *site, size_t n, const double *distance,
                             const double *dout, real *const *gradients) {
    for (size_t i = 0; i < n; i++)
        if (fmod(distance[i], 2) == 0)
            right->bias_backward(site, 1, distance + i, dout + i, gradients);
}

START_TEST(gradient_that_is_missing) {
    right = encoding_find("t5");
    Encoding broken = *right;
    broken.bias_backward = half_of_the_rows;
    notices(&broken, "along encoding/t5/bias");
}
END_TEST

enum { LONG = 16 }; /* longer than PyTorch's sequences */

static void look_ahead(const Site *site, real *x) {
    const size_t width = (size_t)site->shape->width;
    if (site->length > LONG) x[0] += (real)1e-4 * x[(site->length - 1) * width];
}

START_TEST(later_tokens_seen) {
    Encoding broken = *encoding_find("nope");
    broken.embed = look_ahead;
    notices(&broken, "reach earlier logits");
}
END_TEST

static void never_the_same(const Site *site, real *x) {
    static atomic_int calls;
    if (site->length > LONG) x[0] += (real)3e-7 * (real)(calls++ % 5);
}

START_TEST(bits_that_change) {
    Encoding broken = *encoding_find("nope");
    broken.embed = never_the_same;
    notices(&broken, "other bits");
}
END_TEST

static void shifted(const Site *site, real *x) {
    if (site->positions[0] > 0) x[0] += 1;
}

START_TEST(where_positions_start) {
    Encoding broken = *encoding_find("alibi");
    broken.embed = shifted;
    notices(&broken, "positions 7 later move logits");
}
END_TEST

/* Absolute encodings move with their positions, rope (a dynamic scaling) and fire (past its
   threshold) with some options; those of a distance, of the content, and none do not. */
START_TEST(absolute_or_not) {
    static const struct {
        const char *name;
        bool moves;
    } cases[] = {{"nope", false},
                 {"sinusoidal", true},
                 {"learned", true},
                 {"rope", true},
                 {"xpos", false},
                 {"pope", false},
                 {"shaw", false},
                 {"transformer_xl", false},
                 {"tupe", true},
                 {"deberta", false},
                 {"t5", false},
                 {"alibi", false},
                 {"hard_alibi", false},
                 {"kerple", false},
                 {"fire", true},
                 {"sandwich", false},
                 {"cope", false},
                 {"fox", false},
                 {"stick_breaking", false},
                 {"custom", false}};
    gemm_start();
    ck_assert_uint_eq(sizeof cases / sizeof *cases, encoding_count);
    for (size_t i = 0; i < encoding_count; i++) {
        ck_assert_str_eq(cases[i].name, encodings[i]->name);
        const int moved = selftest_encoding(encodings[i]).moved;
        ck_assert_msg((moved > 0) == cases[i].moves, "%s: %d cases move", cases[i].name, moved);
    }
}
END_TEST

static void no_tables(const EncodingShape *shape, const real *const *const *parameters,
                      size_t length, PositionTableSink sink, void *to) {
    (void)shape, (void)parameters, (void)length, (void)sink, (void)to;
}

START_TEST(missing_tables) {
    Encoding broken = *encoding_find("alibi");
    broken.tables = no_tables;
    notices(&broken, "no table slope");
    broken = *encoding_find("sinusoidal");
    broken.tables = no_tables;
    notices(&broken, "no table");
}
END_TEST

START_TEST(an_encoding_that_nobody_compared) {
    Encoding broken = *encoding_find("nope");
    broken.name = "new";
    notices(&broken, "no logits of another program");
}
END_TEST

Suite *suite_selftest(void);
Suite *suite_selftest(void) {
    Suite *suite = suite_create("selftest");
    TCase *tests = tcase_create("selftest");
    tcase_add_loop_test(tests, every_encoding, 0, (int)encoding_count);
    tcase_add_loop_test(tests, scores_a_percent_too_large, 0, (int)encoding_count);
    tcase_add_test(tests, wrong_gradient);
    tcase_add_test(tests, gradient_that_is_missing);
    tcase_add_test(tests, later_tokens_seen);
    tcase_add_test(tests, bits_that_change);
    tcase_add_test(tests, where_positions_start);
    tcase_add_test(tests, absolute_or_not);
    tcase_add_test(tests, missing_tables);
    tcase_add_test(tests, an_encoding_that_nobody_compared);
    suite_add_tcase(suite, tests);
    return suite;
}
