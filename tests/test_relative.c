/* relative: encodings in which distance meets content (shaw, transformer_xl, deberta), against the
   papers' formulas, other people's code, and what must hold between them. */
#include "tests/attention_probe.h"
#include "tests/golden.h"
#include "tests/tolerance.h"
#include "tests/vectors/packages.h"
#include "tests/vectors/relative.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* B34 among them: transformer_xl reads the distance i - j, causal and both ways. */
START_TEST(papers) { golden_compare(&relative_cases[_i]); }
END_TEST

START_TEST(packages) {
    if (!strcmp(packages_cases[_i].encoding, "deberta")) golden_compare(&packages_cases[_i]);
}
END_TEST

/* ---- what must hold ------------------------------------------------------------------------- */

enum { LENGTH = 300 }; /* two tiles of keys, query blocks of 64 rows, the last one ragged */

static const struct {
    const char *encoding, *options;
} variants[] = {
    {"shaw", "clip=7"},
    {"shaw", "clip=60 values=false"},
    {"transformer_xl", ""},
    {"deberta", "span=9"},
    {"deberta", "span=60 buckets=16 p2c_index=code"},
    {"deberta", "span=30 terms=p2c"},
};

static void equal(const char *what, const double *a, const double *b, size_t count, double bound) {
    for (size_t i = 0; i < count; i++)
        if (!(a[i] == b[i] || fabs(a[i] - b[i]) <= bound))
            ck_abort_msg("%s[%zu]: %.12g and %.12g", what, i, a[i], b[i]);
}

START_TEST(without_parameters_it_is_nope) {
    static const char *const nothing[][2] = {{"shaw", "clip=7 values=false"},
                                             {"shaw", "clip=7"},
                                             {"transformer_xl", ""},
                                             {"deberta", "terms=none"}};
    for (int causal = 0; causal < 2; causal++) {
        GoldenAttention a =
            golden_attention(nothing[_i][0], nothing[_i][1], LENGTH, causal, NULL, 0);
        GoldenAttention nope = golden_attention("nope", "", LENGTH, causal, NULL, 0);
        golden_equal(&a, &nope, 0);
        golden_attention_free(&a);
        golden_attention_free(&nope);
    }
}
END_TEST

START_TEST(only_distances_count) {
    for (int gaps = 0; gaps < 2; gaps++) {
        double here[LENGTH], there[LENGTH];
        for (size_t i = 0; i < LENGTH; i++) {
            here[i] = (double)(gaps ? i * i % 311 : i); /* neither rising nor falling */
            there[i] = here[i] + 4096;
        }
        GoldenAttention a = golden_attention(variants[_i].encoding, variants[_i].options, LENGTH,
                                             gaps, here, 1);
        GoldenAttention b = golden_attention(variants[_i].encoding, variants[_i].options, LENGTH,
                                             gaps, there, 1);
        /* Sinusoids of far positions, where they are not those of the distance: 8 channels. */
        const bool sinusoids = gaps && !strcmp(variants[_i].encoding, "transformer_xl");
        golden_equal(&a, &b, sinusoids ? TOLERANCE(2e-5, 1e-11) : 0);
        golden_attention_free(&a);
        golden_attention_free(&b);
    }
}
END_TEST

/* Positions that rise by one go through runs of distances; moving the last token sends all through
   the general way, but no other row sees that token. */
START_TEST(both_ways_of_tiles_agree) {
    double rising[LENGTH], moved[LENGTH];
    for (size_t i = 0; i < LENGTH; i++) rising[i] = moved[i] = (double)i;
    moved[LENGTH - 1] += 5;
    GoldenAttention a = golden_attention(variants[_i].encoding, variants[_i].options, LENGTH, true,
                                         rising, 1);
    GoldenAttention b = golden_attention(variants[_i].encoding, variants[_i].options, LENGTH, true,
                                         moved, 1);
    size_t differ = 0;
    for (size_t h = 0; h < GOLDEN_HEADS; h++) {
        const size_t from = h * LENGTH * LENGTH, last = from + (LENGTH - 1) * LENGTH;
        equal("score", a.score + from, b.score + from, (LENGTH - 1) * LENGTH,
              TOLERANCE(1e-5, 1e-12));
        for (size_t j = 0; j + 1 < LENGTH; j++) differ += a.score[last + j] != b.score[last + j];
    }
    ck_assert_uint_gt(differ, 0); /* the last row did move */
    golden_attention_free(&a);
    golden_attention_free(&b);
}
END_TEST

/* B34: the matrix of scores filled with the distance itself, of one head of width 2 whose q or k is
   (1, 0) everywhere and whose tables hold their own distance: entry (i, j) is i - j, also where a
   key comes after the query; no reshaping mixes rows up. */
START_TEST(entries_are_distances) {
    enum { TOKENS = 3 };
    static const double one[2 * TOKENS] = {1, 0, 1, 0, 1, 0}, zero[2 * TOKENS] = {0};
    static const real identity[4] = {1, 0, 0, 1};
    static const struct {
        const char *encoding, *options, *projection;
        int half; /* rows of the table before the one of distance 0 */
        bool query;
        double factor; /* of i - j */
    } cases[] = {
        {"shaw", "clip=4 values=false", NULL, 4, true, -0.70710678118654752},
        {"deberta", "span=4 terms=c2p", "key", 4, true, 0.5},
        {"deberta", "span=4 terms=p2c", "query", 4, false, -0.5},
        {"deberta", "span=4 terms=p2c p2c_index=code", "query", 4, false, 0.5},
        {"transformer_xl", "", "w", 0, true, 0},
    };
    for (size_t c = 0; c < COUNT(cases); c++)
        for (int both_ways = 0; both_ways < 2; both_ways++) {
            const Encoding *e = encoding_find(cases[c].encoding);
            const KindOptions chosen = golden_options(e, cases[c].options);
            SmallModelOwner *owner = small_model_create(&(SmallModel){.encoding = e,
                                                                      .encoding_options = &chosen,
                                                                      .layers = 1,
                                                                      .heads = 1,
                                                                      .head_width = 2,
                                                                      .bidirectional = both_ways});
            if (cases[c].projection)
                memcpy(probe_parameter(owner->model, cases[c].projection), identity,
                       sizeof identity);
            if (cases[c].half) {
                real *table = probe_parameter(owner->model, strcmp(e->name, "shaw") ? "table"
                                                                                    : "key");
                for (int n = 0; n < 2 * cases[c].half; n++) {
                    table[2 * n] = (real)(n - cases[c].half);
                    table[2 * n + 1] = 0;
                }
            } else { /* W r is sin, cos of the distance */
                memset(probe_parameter(owner->model, "u"), 0, 2 * sizeof(real));
                memset(probe_parameter(owner->model, "v"), 0, 2 * sizeof(real));
            }
            double score[TOKENS * TOKENS];
            attention_probe(owner->model, &(AttentionProbe){.length = TOKENS,
                                                            .q = cases[c].query ? one : zero,
                                                            .k = cases[c].query ? zero : one,
                                                            .v = zero,
                                                            .score = score});
            for (int i = 0; i < TOKENS; i++)
                for (int j = 0; j < (both_ways ? TOKENS : i + 1); j++)
                    ck_assert_double_eq_tol(score[i * TOKENS + j],
                                            cases[c].half ? cases[c].factor * (i - j)
                                                          : sin(i - j) / sqrt(2),
                                            TOLERANCE_ATTENTION);
            small_model_free(owner);
        }
}
END_TEST

/* Shaw: k in front of the clip's end each distance has a row of its own, behind it none. */
START_TEST(beyond_the_clip_all_keys_are_alike) {
    GoldenAttention a = golden_attention("shaw", "clip=3 values=false", LENGTH, true, NULL, 1);
    GoldenAttention nope = golden_attention("nope", "", LENGTH, true, NULL, 1);
    const size_t row = 280 * LENGTH;
    const double far = a.score[row] - nope.score[row];
    for (size_t j = 1; j <= 277; j++)
        ck_assert_double_eq_tol(a.score[row + j] - nope.score[row + j], far,
                                TOLERANCE(1e-6, 1e-14));
    ck_assert_double_gt(fabs(a.score[row + 278] - nope.score[row + 278] - far), 1e-3);
    golden_attention_free(&a);
    golden_attention_free(&nope);
}
END_TEST

START_TEST(indices_of_position_to_content_differ) {
    GoldenAttention paper = golden_attention("deberta", "span=9 terms=p2c", 20, true, NULL, 1);
    GoldenAttention code =
        golden_attention("deberta", "span=9 terms=p2c p2c_index=code", 20, true, NULL, 1);
    for (size_t i = 0; i < 20; i++) /* D(i,i) is the middle row either way */
        ck_assert_double_eq(paper.score[i * 20 + i], code.score[i * 20 + i]);
    ck_assert_double_gt(fabs(paper.score[20] - code.score[20]), 1e-3);
    golden_attention_free(&paper);
    golden_attention_free(&code);
}
END_TEST

START_TEST(scale_counts_the_terms) {
    static const struct {
        const char *terms;
        double counted;
    } scales[] = {{"terms=none", 1}, {"terms=c2p", 2}, {"terms=p2c", 2}, {"terms=both", 3}};
    for (size_t i = 0; i < COUNT(scales); i++) {
        GoldenAttention a = golden_attention("deberta", scales[i].terms, 2, true, NULL, 0);
        double product = 0;
        for (size_t n = 0; n < a.d; n++) product += golden_wave(1, n) * golden_wave(2, n);
        ck_assert_double_eq_tol(a.score[0], product / sqrt(4 * scales[i].counted),
                                TOLERANCE_ATTENTION);
        golden_attention_free(&a);
    }
}
END_TEST

static const char *refused(const char *encoding, const char *options, int width) {
    const Encoding *e = encoding_find(encoding);
    const KindOptions chosen = golden_options(e, options);
    return e->refuse(&(EncodingShape){.layers = 1,
                                      .heads = 1,
                                      .width = width,
                                      .head_width = width,
                                      .qk_width = width,
                                      .causal = true,
                                      .options = &chosen});
}

START_TEST(shapes_are_refused_with_the_reason) {
    ck_assert_ptr_null(refused("deberta", "buckets=4 span=5", 8));
    ck_assert_ptr_null(refused("deberta", "buckets=0 span=1", 8));
    ck_assert_str_eq(refused("deberta", "buckets=7 span=50", 8),
                     "buckets = 7 with span = 50; they must be 0 or an even number from 4 with "
                     "buckets / 2 + 1 < span");
    ck_assert_ptr_nonnull(refused("deberta", "buckets=2 span=50", 8));
    ck_assert_ptr_nonnull(refused("deberta", "buckets=8 span=5", 8));
    ck_assert_ptr_null(refused("transformer_xl", "", 6));
    ck_assert_str_eq(refused("transformer_xl", "", 5),
                     "sines and cosines need an even model.width, which is 5");
}
END_TEST

/* ---- gradients over options, in two tiles ----------------------------------------------- */

#ifdef REAL_DOUBLE
START_TEST(gradients) { golden_gradients(variants[_i].encoding, variants[_i].options); }
END_TEST
#endif

Suite *suite_relative(void);

Suite *suite_relative(void) {
    Suite *suite = suite_create("relative");
    TCase *golden = tcase_create("golden");
    tcase_add_loop_test(golden, papers, 0, COUNT(relative_cases));
    tcase_add_loop_test(golden, packages, 0, COUNT(packages_cases));
    suite_add_tcase(suite, golden);

#ifdef REAL_DOUBLE
    TCase *differences = tcase_create("gradients");
    tcase_add_loop_test(differences, gradients, 0, COUNT(variants));
    suite_add_tcase(suite, differences);
#endif

    TCase *properties = tcase_create("properties");
    tcase_add_loop_test(properties, without_parameters_it_is_nope, 0, 4);
    tcase_add_loop_test(properties, only_distances_count, 0, COUNT(variants));
    tcase_add_loop_test(properties, both_ways_of_tiles_agree, 0, COUNT(variants));
    tcase_add_test(properties, entries_are_distances);
    tcase_add_test(properties, beyond_the_clip_all_keys_are_alike);
    tcase_add_test(properties, indices_of_position_to_content_differ);
    tcase_add_test(properties, scale_counts_the_terms);
    tcase_add_test(properties, shapes_are_refused_with_the_reason);
    suite_add_tcase(suite, properties);
    return suite;
}
