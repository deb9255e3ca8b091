/* widened: encodings that turn q and k into rows of twice the width (pope, tupe), against papers,
   other people's code, other encodings, and what must hold. */
#include "tests/attention_probe.h"
#include "tests/golden.h"
#include "tests/tolerance.h"
#include "tests/vectors/pope.h"
#include "tests/vectors/tupe.h"

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

START_TEST(pope_counts_distances_alone) {
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

/* ---- tupe ----------------------------------------------------------------------------------- */

START_TEST(tupe_paper) { golden_compare(&tupe_cases[_i]); }
END_TEST

/* An empty table has norm 0: products of words alone, at tupe's scale. */
START_TEST(tupe_without_positions) {
    for (int causal = 0; causal < 2; causal++) {
        GoldenAttention a = golden_attention("tupe", "", LENGTH, causal, NULL, 0);
        GoldenAttention nope = golden_attention("nope", "", LENGTH, causal, NULL, 0);
        for (size_t i = 0; i < GOLDEN_HEADS * LENGTH * LENGTH; i++)
            if (!isinf(nope.score[i]))
                ck_assert_double_eq_tol(a.score[i], nope.score[i] / M_SQRT2,
                                        TOLERANCE(5e-7, 1e-15));
            else
                ck_assert(isinf(a.score[i]));
        golden_attention_free(&a);
        golden_attention_free(&nope);
    }
}
END_TEST

/* What TUPE-R adds to TUPE-A is what t5 adds to nope, with the same B; and neither forgets where
   a sequence starts. */
START_TEST(tupe_relative_adds_the_bias_of_t5) {
    double there[LENGTH], apart = 0;
    for (size_t i = 0; i < LENGTH; i++) there[i] = (double)i + 100;
    GoldenAttention a = golden_attention("tupe", "relative=false", LENGTH, _i, NULL, 1);
    GoldenAttention r =
        golden_attention("tupe", "relative=true max_distance=90", LENGTH, _i, NULL, 1);
    const Encoding *e = encoding_find("t5");
    const KindOptions chosen = golden_options(e, "max_distance=90");
    SmallModelOwner *t5 = small_model_create(&(SmallModel){.encoding = e,
                                                           .encoding_options = &chosen,
                                                           .layers = 1,
                                                           .heads = GOLDEN_HEADS,
                                                           .head_width = (int)a.d,
                                                           .bidirectional = !_i});
    real *bias = probe_parameter(t5->model, "bias");
    for (size_t n = 0; n < GOLDEN_HEADS * 32; n++) bias[n] = (real)golden_wave(11 + 3, n);
    static double zero[LENGTH * GOLDEN_WIDTH], score[GOLDEN_HEADS * LENGTH * LENGTH];
    attention_probe(t5->model, &(AttentionProbe){
                                   .length = LENGTH, .q = zero, .k = zero, .v = zero,
                                   .score = score});
    for (size_t i = 0; i < GOLDEN_HEADS * LENGTH * LENGTH; i++)
        if (!isinf(score[i]))
            ck_assert_double_eq_tol(r.score[i] - a.score[i], score[i], TOLERANCE(4e-6, 1e-13));
    GoldenAttention shifted = golden_attention("tupe", "relative=true max_distance=90", LENGTH, _i,
                                               there, 1);
    for (size_t i = 0; i < GOLDEN_HEADS * LENGTH * LENGTH; i++)
        if (!isinf(r.score[i])) apart = fmax(apart, fabs(r.score[i] - shifted.score[i]));
    ck_assert_double_gt(apart, 0.1);
    golden_attention_free(&a);
    golden_attention_free(&r);
    golden_attention_free(&shifted);
    small_model_free(t5);
}
END_TEST

/* Positions meet positions alone: their part of the scores does not depend on q and k, and all
   layers share it. */
START_TEST(tupe_positions_are_untied) {
    const Encoding *e = encoding_find("tupe");
    SmallModelOwner *owner = small_model_create(&(SmallModel){
        .encoding = e, .layers = 2, .heads = GOLDEN_HEADS, .head_width = 4, .trained_length = 20});
    Model *model = owner->model;
    for (int layer = 1; layer < 2; layer++)
        for (int k = 0; k < 3; k++)
            ck_assert_uint_eq(model->layers[layer].encoding[k], model->layers[0].encoding[k]);
    enum { TOKENS = 20, COUNT_X = TOKENS * GOLDEN_WIDTH, SQUARE = GOLDEN_HEADS * TOKENS * TOKENS };
    double zero[COUNT_X] = {0}, q[COUNT_X], k[COUNT_X];
    static double positions_alone[SQUARE], both[SQUARE];
    for (size_t i = 0; i < COUNT_X; i++) q[i] = golden_wave(1, i), k[i] = golden_wave(2, i);
    attention_probe(model, &(AttentionProbe){.length = TOKENS, .q = zero, .k = zero, .v = zero,
                                             .score = positions_alone});
    attention_probe(model, &(AttentionProbe){.length = TOKENS, .q = q, .k = k, .v = zero,
                                             .score = both});
    for (size_t h = 0; h < GOLDEN_HEADS; h++)
        for (size_t i = 0; i < TOKENS; i++)
            for (size_t j = 0; j <= i; j++) {
                double words = 0;
                for (size_t c = 0; c < 4; c++)
                    words += q[(h * TOKENS + i) * 4 + c] * k[(h * TOKENS + j) * 4 + c];
                const size_t at = (h * TOKENS + i) * TOKENS + j;
                ck_assert_double_eq_tol(both[at] - positions_alone[at], words / sqrt(8),
                                        TOLERANCE_OP);
            }
    small_model_free(owner);
}
END_TEST

START_TEST(tupe_says_where_it_ends) {
    const Encoding *tupe = encoding_find("tupe");
    KindOptions chosen = golden_options(tupe, "");
    EncodingShape shape = {.layers = 1, .heads = 2, .width = 8, .head_width = 4, .causal = true,
                           .trained_length = 64, .options = &chosen};
    ck_assert_ptr_null(tupe->defined(&shape, 64, 63));
    ck_assert_str_eq(tupe->defined(&shape, 65, 64),
                     "tupe has 64 positions, length 65 needs 65; past_end = \"clamp\" or "
                     "\"interpolate\" would define it");
    chosen = golden_options(tupe, "past_end=clamp");
    ck_assert_ptr_null(tupe->defined(&shape, 65, 64));
    chosen = golden_options(tupe, "positions=100");
    ck_assert_ptr_null(tupe->defined(&shape, 65, 99));
    ck_assert_ptr_nonnull(tupe->defined(&shape, 65, 100));
    chosen = golden_options(tupe, "buckets=32 max_distance=16"); /* not looked at */
    ck_assert_ptr_null(tupe->refuse(&shape));
    chosen = golden_options(tupe, "buckets=32 max_distance=16 relative=true");
    ck_assert_str_eq(tupe->refuse(&shape), "max_distance = 16 with buckets = 32: it must be "
                                           "max_distance > buckets/2 = 16");
}
END_TEST

/* A table of 2 rows that grows to 3. */
START_TEST(tupe_tables_grow) {
    static const struct {
        const char *past_end;
        real wanted[6];
    } cases[] = {{"past_end=error", {1, 2, 5, 8, -7, -7}},
                 {"past_end=clamp", {1, 2, 5, 8, 5, 8}},
                 {"past_end=interpolate", {1, 2, 3, 5, 5, 8}}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const Encoding *tupe = encoding_find("tupe");
        const KindOptions chosen = golden_options(tupe, cases[i].past_end);
        EncodingShape from = {.width = 2, .trained_length = 2, .options = &chosen}, to = from;
        to.trained_length = 3;
        const real old[] = {1, 2, 5, 8};
        real grown[] = {-7, -7, -7, -7, -7, -7};
        tupe->extend(&from, &to, 0, old, grown);
        for (size_t n = 0; n < 6; n++) ck_assert(grown[n] == cases[i].wanted[n]);
    }
}
END_TEST

Suite *suite_widened(void);

Suite *suite_widened(void) {
    Suite *suite = suite_create("widened");
    TCase *golden = tcase_create("golden");
    tcase_add_loop_test(golden, pope_packages, 0, COUNT(pope_cases));
    tcase_add_loop_test(golden, tupe_paper, 0, COUNT(tupe_cases));
    suite_add_tcase(suite, golden);

    TCase *properties = tcase_create("properties");
    tcase_add_test(properties, pope_is_rope_of_twice_the_width);
    tcase_add_test(properties, pope_phases_delay_the_keys);
    tcase_add_test(properties, pope_phases_stay_in_their_range);
    tcase_add_loop_test(properties, pope_counts_distances_alone, 0, 2);
    tcase_add_test(properties, tupe_without_positions);
    tcase_add_loop_test(properties, tupe_relative_adds_the_bias_of_t5, 0, 2);
    tcase_add_test(properties, tupe_positions_are_untied);
    tcase_add_test(properties, tupe_says_where_it_ends);
    tcase_add_test(properties, tupe_tables_grow);
    suite_add_tcase(suite, properties);
    return suite;
}
