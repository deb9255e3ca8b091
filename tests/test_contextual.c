/* contextual: encodings that find order in the content (cope, stick_breaking, fox), against the
   papers' formulas, other people's code, and what must hold. */
#include "tests/attention_probe.h"
#include "tests/golden.h"
#include "tests/tolerance.h"
#include "tests/vectors/contextual.h"
#include "tests/vectors/packages.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

START_TEST(papers) { golden_compare(&contextual_cases[_i]); }
END_TEST

START_TEST(packages) {
    if (strcmp(packages_cases[_i].encoding, "deberta")) golden_compare(&packages_cases[_i]);
}
END_TEST

/* ---- what must hold ------------------------------------------------------------------------- */

enum { LENGTH = 300 };

static const char *const names[] = {"cope", "stick_breaking", "fox"};

START_TEST(positions_do_not_count) {
    double positions[LENGTH];
    for (size_t i = 0; i < LENGTH; i++) positions[i] = 0.7 * (double)(i * i % 311);
    GoldenAttention a = golden_attention(names[_i], "", LENGTH, true, NULL, 1);
    GoldenAttention b = golden_attention(names[_i], "", LENGTH, true, positions, 1);
    ck_assert_mem_eq(a.score, b.score, sizeof(double) * GOLDEN_HEADS * LENGTH * LENGTH);
    ck_assert_mem_eq(a.o, b.o, sizeof(double) * LENGTH * GOLDEN_WIDTH);
    golden_attention_free(&a);
    golden_attention_free(&b);
}
END_TEST

START_TEST(cope_with_an_empty_table_is_nope) {
    GoldenAttention a = golden_attention("cope", "", LENGTH, true, NULL, 0);
    GoldenAttention nope = golden_attention("nope", "", LENGTH, true, NULL, 0);
    ck_assert_mem_eq(a.score, nope.score, sizeof(double) * GOLDEN_HEADS * LENGTH * LENGTH);
    ck_assert_mem_eq(a.o, nope.o, sizeof(double) * LENGTH * GOLDEN_WIDTH);
    golden_attention_free(&a);
    golden_attention_free(&nope);
}
END_TEST

/* One head of width 2 on given q, k and a table: scores [length, length]. */
static double *cope_scores(size_t length, const char *options, const double *q, const double *k,
                           double (*entry)(size_t row, size_t channel)) {
    const Encoding *e = encoding_find("cope");
    const KindOptions chosen = golden_options(e, options);
    SmallModelOwner *owner = small_model_create(&(SmallModel){
        .encoding = e, .encoding_options = &chosen, .layers = 1, .heads = 1, .head_width = 2});
    real *table = probe_parameter(owner->model, "table");
    const size_t rows = owner->model->parameters[owner->model->parameter_count - 1].dims[0];
    for (size_t i = 0; i < 2 * rows; i++) table[i] = (real)entry(i / 2, i % 2);
    double *score = ALLOCATE(length * length, double);
    attention_probe(owner->model, &(AttentionProbe){
                                      .length = length, .q = q, .k = k, .v = q, .score = score});
    small_model_free(owner);
    return score;
}

static double table_entry(size_t row, size_t channel) {
    return channel ? 0.25 * (double)row : golden_wave(5, row);
}

/* Every gate is open (sigmoid(60) is 1 in both builds): p is the number of tokens from the key to
   the query, a whole number, so score - q·k/sqrt(d) is q · e[i - j + 1], and the last row from
   npos - 1 on. */
START_TEST(cope_counts_tokens_when_gates_are_open) {
    enum { NPOS = 290 };
    double q[2 * LENGTH], k[2 * LENGTH];
    const double root = sqrt(2);
    for (size_t i = 0; i < LENGTH; i++) {
        q[2 * i] = 1, q[2 * i + 1] = 0.5;
        k[2 * i] = 60 * root, k[2 * i + 1] = 0;
    }
    double *score = cope_scores(LENGTH, "npos=290 scale=content", q, k, table_entry);
    for (size_t i = 0; i < LENGTH; i++)
        for (size_t j = 0; j <= i; j++) {
            const size_t row = least(i - j + 1, NPOS - 1);
            const double wanted = 60 + table_entry(row, 0) + 0.5 * table_entry(row, 1);
            ck_assert_double_eq_tol(score[i * LENGTH + j], wanted, TOLERANCE(4e-5, 1e-12));
        }
    free(score);
}
END_TEST

/* Every gate is half open: p = (i - j + 1) / 2, between two rows where that is odd. The scale of
   the second term is the option. */
START_TEST(cope_interpolates_half_open_gates) {
    double q[2 * LENGTH], k[2 * LENGTH] = {0};
    for (size_t i = 0; i < 2 * LENGTH; i++) q[i] = i % 2 ? 0.5 : 1;
    for (int both = 0; both < 2; both++) {
        double *score = cope_scores(LENGTH, both ? "npos=200 scale=both" : "npos=200 scale=content",
                                    q, k, table_entry);
        for (size_t i = 0; i < LENGTH; i++)
            for (size_t j = 0; j <= i; j++) {
                const size_t low = (i - j + 1) / 2, high = (i - j + 2) / 2;
                const double at = 0.5 * (table_entry(low, 0) + 0.5 * table_entry(low, 1) +
                                         table_entry(high, 0) + 0.5 * table_entry(high, 1));
                ck_assert_double_eq_tol(score[i * LENGTH + j], both ? at / sqrt(2) : at,
                                        TOLERANCE(1e-5, 1e-12));
            }
        free(score);
    }
}
END_TEST

/* What is left of the stick is the product of what each key left. */
START_TEST(sticks_are_broken_to_the_end) {
    GoldenAttention a = golden_attention("stick_breaking", "", LENGTH, true, NULL, 1);
    for (size_t h = 0; h < GOLDEN_HEADS; h++)
        for (size_t i = 0; i < LENGTH; i++) {
            const double *z = a.score + (h * LENGTH + i) * LENGTH;
            const double *p = a.probability + (h * LENGTH + i) * LENGTH;
            double sum = 0, left = 1;
            for (size_t j = 0; j < i; j++) {
                sum += p[j];
                left *= 1 - 1 / (1 + exp(-z[j]));
            }
            ck_assert_double_eq_tol(sum, 1 - left, TOLERANCE_ATTENTION);
            for (size_t j = i; j < LENGTH; j++) ck_assert_double_eq(p[j], 0);
        }
    for (size_t h = 0; h < GOLDEN_HEADS; h++) /* the first token sees nothing */
        for (size_t n = 0; n < a.d; n++) ck_assert_double_eq(a.o[h * LENGTH * a.d + n], 0);
    golden_attention_free(&a);
}
END_TEST

/* Constant gates forget at a constant rate: ALiBi with slope log(1 + e^-b). */
START_TEST(fox_with_constant_gates_is_a_linear_bias) {
    static const double biases[GOLDEN_HEADS] = {1.5, -0.5};
    const Encoding *e = encoding_find("fox");
    SmallModelOwner *owner = small_model_create(
        &(SmallModel){.encoding = e, .layers = 1, .heads = GOLDEN_HEADS, .head_width = 4});
    memset(probe_parameter(owner->model, "weight"), 0,
           GOLDEN_HEADS * GOLDEN_WIDTH * sizeof(real));
    for (size_t h = 0; h < GOLDEN_HEADS; h++)
        probe_parameter(owner->model, "bias")[h] = (real)biases[h];
    double *q = ALLOCATE(LENGTH * GOLDEN_WIDTH, double);
    double *x = ALLOCATE(LENGTH * GOLDEN_WIDTH, double);
    double *score = ALLOCATE(GOLDEN_HEADS * LENGTH * LENGTH, double);
    for (size_t i = 0; i < LENGTH * GOLDEN_WIDTH; i++) x[i] = golden_wave(4, i);
    attention_probe(owner->model, &(AttentionProbe){.length = LENGTH,
                                                    .q = q,
                                                    .k = q,
                                                    .v = q,
                                                    .x = x,
                                                    .score = score});
    for (size_t h = 0; h < GOLDEN_HEADS; h++)
        for (size_t i = 0; i < LENGTH; i++)
            for (size_t j = 0; j <= i; j++) {
                const double wanted = -log1p(exp(-biases[h])) * (double)(i - j);
                ck_assert_double_eq_tol(score[(h * LENGTH + i) * LENGTH + j], wanted,
                                        TOLERANCE(2e-7, 1e-13) * (1 + fabs(wanted)));
            }
    free(q);
    free(x);
    free(score);
    small_model_free(owner);
}
END_TEST

/* A sum of thousands leaves no trace in the scores of neighbours, since it is kept in double. */
START_TEST(fox_keeps_neighbours_exact_far_from_the_start) {
    enum { LONG = 4000 };
    GoldenAttention a = golden_attention("fox", "", LONG, true, NULL, 1);
    GoldenAttention nope = golden_attention("nope", "", LONG, true, NULL, 1);
    double forgotten = 0;
    for (size_t i = 1; i < LONG; i++) {
        const double added = a.score[i * LONG + i - 1] - nope.score[i * LONG + i - 1];
        double gate = golden_wave(12, 0); /* of the first head */
        for (size_t c = 0; c < GOLDEN_WIDTH; c++)
            gate += golden_wave(11, c) * golden_wave(4, i * GOLDEN_WIDTH + c);
        ck_assert_double_eq_tol(added, -log1p(exp(-gate)), TOLERANCE(2e-6, 2e-12));
        forgotten += added;
    }
    ck_assert_double_lt(forgotten, -2048); /* floats that large have steps of 2e-4 */
    golden_attention_free(&a);
    golden_attention_free(&nope);
}
END_TEST

/* ---- gradients over options, in two tiles ----------------------------------------------- */

#ifdef REAL_DOUBLE
static const char *const variants[][2] = {{"cope", "npos=3 scale=content"},
                                          {"cope", "npos=1"},
                                          {"cope", "npos=30"},
                                          {"stick_breaking", ""},
                                          {"fox", "bias=3"}};

START_TEST(gradients) { golden_gradients(variants[_i][0], variants[_i][1]); }
END_TEST
#endif

Suite *suite_contextual(void);

Suite *suite_contextual(void) {
    Suite *suite = suite_create("contextual");
    TCase *golden = tcase_create("golden");
    tcase_add_loop_test(golden, papers, 0, COUNT(contextual_cases));
    tcase_add_loop_test(golden, packages, 0, COUNT(packages_cases));
    suite_add_tcase(suite, golden);

#ifdef REAL_DOUBLE
    TCase *differences = tcase_create("gradients");
    tcase_add_loop_test(differences, gradients, 0, COUNT(variants));
    suite_add_tcase(suite, differences);
#endif

    TCase *properties = tcase_create("properties");
    tcase_add_loop_test(properties, positions_do_not_count, 0, COUNT(names));
    tcase_add_test(properties, cope_with_an_empty_table_is_nope);
    tcase_add_test(properties, cope_counts_tokens_when_gates_are_open);
    tcase_add_test(properties, cope_interpolates_half_open_gates);
    tcase_add_test(properties, sticks_are_broken_to_the_end);
    tcase_add_test(properties, fox_with_constant_gates_is_a_linear_bias);
    tcase_add_test(properties, fox_keeps_neighbours_exact_far_from_the_start);
    suite_add_tcase(suite, properties);
    return suite;
}
