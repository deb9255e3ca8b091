/* widened: encodings that turn q and k into rows of twice the width (pope), against other people's
   code, other encodings, and what must hold. */
#include "tests/attention_probe.h"
#include "tests/golden.h"
#include "tests/tolerance.h"
#include "tests/vectors/pope.h"

#include <check.h>
#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { LENGTH = 300 }; /* two tiles of keys, query blocks of 64 rows, the last one ragged */

/* ---- pope ----------------------------------------------------------------------------------- */

START_TEST(pope_packages) { golden_compare(&pope_cases[_i]); }
END_TEST

/* Without phases it is rope, in halves, on rows of softplus(x) and zeros. */
START_TEST(pope_is_rope_of_twice_the_width) {
    enum { HEADS = 2, D = 20, TOKENS = 7, COUNT_X = HEADS * TOKENS * D };
    static double q[COUNT_X], k[COUNT_X], wide_q[2 * COUNT_X], wide_k[2 * COUNT_X];
    static double found_q[2 * COUNT_X], found_k[2 * COUNT_X], wanted_q[2 * COUNT_X],
        wanted_k[2 * COUNT_X];
    for (size_t i = 0; i < COUNT_X; i++) {
        q[i] = 3 * golden_wave(1, i);
        k[i] = 3 * golden_wave(2, i);
        wide_q[i / D * 2 * D + i % D] = log1p(exp(q[i]));
        wide_k[i / D * 2 * D + i % D] = log1p(exp(k[i]));
    }
    static const double positions[TOKENS] = {0, 1, 2.5, 3, 40, 41, 1000};
    SmallModelOwner *pope = small_model_create(
        &(SmallModel){.encoding = encoding_find("pope"), .heads = HEADS, .head_width = D});
    SmallModelOwner *rope = small_model_create(
        &(SmallModel){.encoding = encoding_find("rope"), .heads = HEADS, .head_width = 2 * D});
    real *phases = probe_parameter(pope->model, "phase");
    for (size_t i = 0; i < HEADS * D; i++) phases[i] = 0;
    attention_probe(pope->model, &(AttentionProbe){.length = TOKENS,
                                                   .q = q,
                                                   .k = k,
                                                   .v = q,
                                                   .positions = positions,
                                                   .rotated_q = found_q,
                                                   .rotated_k = found_k});
    attention_probe(rope->model, &(AttentionProbe){.length = TOKENS,
                                                   .q = wide_q,
                                                   .k = wide_k,
                                                   .v = wide_q,
                                                   .positions = positions,
                                                   .rotated_q = wanted_q,
                                                   .rotated_k = wanted_k});
    for (size_t i = 0; i < 2 * COUNT_X; i++) {
        ck_assert_double_eq_tol(found_q[i], wanted_q[i], TOLERANCE(1e-6, 1e-14));
        ck_assert_double_eq_tol(found_k[i], wanted_k[i], TOLERANCE(1e-6, 1e-14));
    }
    small_model_free(pope);
    small_model_free(rope);
}
END_TEST

/* One channel: its frequency is 1, whatever the base. */
START_TEST(pope_phases_delay_the_keys) {
    enum { TOKENS = 40 };
    static double x[TOKENS], score[TOKENS * TOKENS];
    SmallModelOwner *owner = small_model_create(
        &(SmallModel){.encoding = encoding_find("pope"), .layers = 1, .heads = 1, .head_width = 1});
    *probe_parameter(owner->model, "phase") = -2;
    attention_probe(owner->model,
                    &(AttentionProbe){.length = TOKENS, .q = x, .k = x, .v = x, .score = score});
    for (size_t i = 0; i < TOKENS; i++) /* softplus(0) = ln 2 */
        for (size_t j = 0; j <= i; j++)
            ck_assert_double_eq_tol(score[i * TOKENS + j],
                                    M_LN2 * M_LN2 * cos((double)(i - j) + 2),
                                    TOLERANCE(2e-7, 1e-14));
    small_model_free(owner);
}
END_TEST

START_TEST(pope_phases_stay_in_their_range) {
    const Encoding *pope = encoding_find("pope");
    real phases[] = {0, 1, -1, -7, -6.25, -(real)INFINITY};
    const real wanted[] = {0, 0, -1, (real)(-2 * M_PI), -6.25, (real)(-2 * M_PI)};
    real *values[] = {phases};
    pope->project(&(EncodingShape){.heads = 2, .head_width = 3}, values);
    for (size_t i = 0; i < COUNT(phases); i++) ck_assert(phases[i] == wanted[i]);
}
END_TEST

/* ---- what must hold of each ------------------------------------------------------------------ */

START_TEST(only_distances_count) {
    double here[LENGTH], there[LENGTH];
    for (size_t i = 0; i < LENGTH; i++) {
        here[i] = (double)(i * i % 311); /* neither rising nor falling */
        there[i] = here[i] + 4096;
    }
    GoldenAttention a = golden_attention("pope", "", LENGTH, _i, here, 1);
    GoldenAttention b = golden_attention("pope", "", LENGTH, _i, there, 1);
    golden_equal(&a, &b, TOLERANCE(5e-6, 1e-11));
    golden_attention_free(&a);
    golden_attention_free(&b);
}
END_TEST

Suite *suite_widened(void);

Suite *suite_widened(void) {
    Suite *suite = suite_create("widened");
    TCase *golden = tcase_create("golden");
    tcase_add_loop_test(golden, pope_packages, 0, COUNT(pope_cases));
    suite_add_tcase(suite, golden);

    TCase *properties = tcase_create("properties");
    tcase_add_test(properties, pope_is_rope_of_twice_the_width);
    tcase_add_test(properties, pope_phases_delay_the_keys);
    tcase_add_test(properties, pope_phases_stay_in_their_range);
    tcase_add_loop_test(properties, only_distances_count, 0, 2);
    suite_add_tcase(suite, properties);
    return suite;
}
