/* rotary: rope's frequencies for longer sequences, against other people's code, published numbers,
   and what must hold between them. */
#include "src/model/engine.h"
#include "tests/attention_probe.h"
#include "tests/golden.h"
#include "tests/tolerance.h"
#include "tests/vectors/rope.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void near_value(const char *what, size_t at, double found, double wanted, double bound) {
    if (!(fabs(found - wanted) <= bound))
        ck_abort_msg("%s[%zu] is %.12g, wanted %.12g within %.2g", what, at, found, wanted, bound);
}

/* ---- rope without a model ------------------------------------------------------------------- */

enum { MOST_PAIRS = 64 };

typedef struct {
    KindOptions options;
    EncodingShape shape;
    size_t pairs;
    double frequency[MOST_PAIRS], wavelength[MOST_PAIRS];
} Rope;

static void keep_table(void *to, const PositionTable *table) {
    Rope *rope = to;
    ck_assert_uint_le(table->dims[0], MOST_PAIRS);
    rope->pairs = table->dims[0];
    double *kept = strcmp(table->name, "frequency") ? rope->wavelength : rope->frequency;
    memcpy(kept, table->values, rope->pairs * sizeof *kept);
}

static void rope_make(Rope *rope, const char *options, int head_width, size_t length) {
    const Encoding *encoding = encoding_find("rope");
    *rope = (Rope){.options = golden_options(encoding, options)};
    rope->shape = (EncodingShape){.layers = 1,
                                  .heads = 1,
                                  .width = head_width,
                                  .head_width = head_width,
                                  .qk_width = head_width,
                                  .causal = true,
                                  .trained_length = 64,
                                  .options = &rope->options};
    const char *reason = encoding->refuse(&rope->shape);
    if (reason) ck_abort_msg("%s: %s", options, reason);
    encoding->tables(&rope->shape, NULL, length, keep_table, rope);
}

/* x turned at a position of a sequence; backward: the gradient of x. */
static void turn(const Rope *rope, double position, bool backward, const double *x, double *out) {
    const Encoding *encoding = encoding_find("rope");
    const size_t d = (size_t)rope->shape.head_width;
    Site site = {.shape = &rope->shape, .length = 1, .positions = &position};
    real *table = ALLOCATE(d, real), *in = ALLOCATE(d, real), *result = ALLOCATE(d, real);
    encoding->begin(&site, table);
    site.table = table;
    for (size_t c = 0; c < d; c++) in[c] = (real)x[c];
    if (backward)
        encoding->rotate_backward(&site, ROTATE_QUERY, 0, 1, in, d, in, result, NULL);
    else
        encoding->rotate(&site, ROTATE_KEY, 0, 1, in, d, result);
    for (size_t c = 0; c < d; c++) out[c] = (double)result[c];
    free(table);
    free(in);
    free(result);
}

static double magnitude(const Rope *rope) {
    double x[2 * MOST_PAIRS] = {1}, out[2 * MOST_PAIRS] = {0};
    turn(rope, 0, false, x, out);
    return out[0];
}

/* ---- frequencies ---------------------------------------------------------------------------- */

START_TEST(frequencies_of_transformers) {
    Rope rope;
    rope_make(&rope, rope_cases[_i].options, rope_cases[_i].head_width,
              (size_t)rope_cases[_i].length);
    ck_assert_uint_eq(rope.pairs, rope_cases[_i].pairs);
    for (size_t c = 0; c < rope.pairs; c++) {
        const double wanted = rope_cases[_i].frequency[c];
        near_value(rope_cases[_i].options, c, rope.frequency[c], wanted, 1e-14 * wanted);
    }
    near_value("magnitude", 0, magnitude(&rope), rope_cases[_i].magnitude,
               TOLERANCE(1.3e-7, 1e-15));
}
END_TEST

/* B13: the base follows the current length, up and down again. */
START_TEST(dynamic_follows_the_length) {
    static const struct {
        const char *options;
        int head_width;
        size_t length;
        double base;
    } cases[] = {{"scaling=dynamic factor=2 original_length=2048", 128, 2048, 10000},
                 {"scaling=dynamic factor=2 original_length=2048", 128, 2049, 10009.920712},
                 {"scaling=dynamic factor=2 original_length=2048", 128, 3072, 20221.261690},
                 {"scaling=dynamic factor=2 original_length=2048", 128, 4096, 30527.736749},
                 {"scaling=dynamic factor=2 original_length=2048", 128, 8192, 72195.860087},
                 {"scaling=dynamic factor=2", 32, 65, 10333.677230}, /* of the trained 64 */
                 {"scaling=dynamic factor=2", 32, 128, 32279.688741},
                 {"scaling=dynamic factor=2", 32, 256, 79696.254150}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        Rope rope;
        rope_make(&rope, cases[i].options, cases[i].head_width, cases[i].length);
        near_value("base", i, pow(rope.frequency[1], -(double)cases[i].head_width / 2),
                   cases[i].base, 1e-6);
    }
    SmallModelOwner *owners[2];
    Engine *engines[2];
    const KindOptions options[2] = {
        golden_options(encoding_find("rope"), "scaling=dynamic factor=2 original_length=64"),
        golden_options(encoding_find("rope"), "")};
    for (int n = 0; n < 2; n++) {
        owners[n] = small_model_create(
            &(SmallModel){.encoding = encoding_find("rope"), .encoding_options = &options[n]});
        engines[n] = engine_create(owners[n]->model);
    }
    static const size_t lengths[] = {64, 70, 64, 65, 30};
    real logits[2][COUNT(lengths)][70 * 7];
    static const int32_t tokens[70] = {3, 1, 4, 1, 5, 2, 6, 5, 3, 5};
    for (int n = 0; n < 2; n++)
        for (size_t l = 0; l < COUNT(lengths); l++)
            engine_forward(engines[n],
                           &(Batch){.items = 1, .length = lengths[l], .tokens = tokens},
                           &(ModelOutput){.logits = logits[n][l]});
    for (size_t l = 0; l < COUNT(lengths); l++) {
        const size_t size = lengths[l] * 7 * sizeof(real);
        const bool same = !memcmp(logits[0][l], logits[1][l], size);
        ck_assert_msg(same == (lengths[l] <= 64), "length %zu is as rope: %d", lengths[l], same);
    }
    for (int n = 0; n < 2; n++) {
        engine_free(engines[n]);
        small_model_free(owners[n]);
    }
}
END_TEST

/* B15: linear scaling divides positions. */
START_TEST(linear_divides) {
    Rope rope, scaled;
    double x[32], wanted[32], found[32];
    for (size_t c = 0; c < 32; c++) x[c] = (double)(c * 7 % 11) - 5;
    rope_make(&rope, "", 32, 64);
    rope_make(&scaled, "scaling=linear factor=4", 32, 64);
    turn(&rope, 2, false, x, wanted);
    turn(&scaled, 8, false, x, found);
    ck_assert_mem_eq(found, wanted, sizeof found);
    turn(&rope, 8, false, x, wanted);
    ck_assert_mem_ne(found, wanted, sizeof found);
}
END_TEST

/* A factor of 1 is rope, to the bit. */
START_TEST(factor_of_one_is_rope) {
    static const char *const options[] = {
        "scaling=linear factor=1", "scaling=ntk factor=1",
        "scaling=yarn factor=1",   "scaling=yarn factor=1 ramp=paper",
        "scaling=llama3 factor=1", "scaling=dynamic factor=5 original_length=64"};
    Rope rope, scaled;
    double x[32], wanted[32], found[32];
    for (size_t c = 0; c < 32; c++) x[c] = (double)(c * 7 % 11) - 5;
    rope_make(&rope, "", 32, 64);
    for (size_t i = 0; i < COUNT(options); i++) {
        rope_make(&scaled, options[i], 32, 64);
        ck_assert_mem_eq(scaled.frequency, rope.frequency, 16 * sizeof(double));
        for (double position = 0; position < 64; position += 10.5) {
            turn(&rope, position, false, x, wanted);
            turn(&scaled, position, false, x, found);
            ck_assert_msg(!memcmp(found, wanted, sizeof found), "%s", options[i]);
        }
    }
}
END_TEST

/* B17, B19, and the numbers of short models: the ratio to rope of single pairs. */
START_TEST(ratios) {
    static const struct {
        const char *options;
        int head_width;
        struct {
            size_t pair;
            double ratio;
        } wanted[12]; /* up to a ratio of 0 */
    } cases[] = {
        {"scaling=yarn factor=4 original_length=2048",
         64,
         {{0, 1}, {8, 1}, {9, 1 - 0.75 / 13}, {16, 0.538462}, {20, 0.307692}, {21, 0.25},
          {31, 0.25}}},
        {"scaling=yarn factor=16 original_length=4096",
         128,
         {{20, 1}, {21, 0.963942}, {33, 0.531250}, {46, 0.0625}, {63, 0.0625}}},
        /* bounds -1.99 and 4.03 become 0 and 5 */
        {"scaling=yarn factor=4",
         32,
         {{0, 1}, {1, 0.85}, {2, 0.70}, {3, 0.55}, {4, 0.40}, {5, 0.25}, {6, 0.25}, {15, 0.25}}},
        {"scaling=yarn factor=4 ramp=paper",
         32,
         {{0, 0.47224}, {1, 0.204909 / 0.562341}, {2, 0.09605 / 0.316228},
          {3, 0.047948 / 0.177828}, {4, 0.25045}, {5, 0.25}, {15, 0.25}}},
        {"scaling=llama3 factor=32 original_length=8192 base=500000",
         64,
         {{0, 1}, {14, 1}, {15, 0.605573}, {16, 0.303743}, {17, 0.103448}, {18, 0.03125},
          {31, 0.03125}}},
        {"scaling=llama3 factor=8 original_length=8192 base=500000",
         128,
         {{28, 1}, {29, 0.828168}, {30, 0.643743}, {31, 0.493507}, {32, 0.371122}, {33, 0.271425},
          {34, 0.190211}, {35, 0.125}, {63, 0.125}}},
        {"scaling=ntk factor=4",
         32,
         {{0, 1}, {1, 0.512699 / 0.562341}, {2, 0.262861 / 0.316228}, {3, 0.134768 / 0.177828},
          {5, 0.035425 / 0.056234}, {8, 0.004774 / 0.01}, {15, 0.25}}}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        Rope scaled, rope;
        char plain[200];
        const char *base = strstr(cases[i].options, "base=");
        snprintf(plain, sizeof plain, "%s", base ? base : "");
        rope_make(&rope, plain, cases[i].head_width, 64);
        rope_make(&scaled, cases[i].options, cases[i].head_width, 64);
        for (size_t n = 0; cases[i].wanted[n].ratio > 0; n++) {
            const size_t pair = cases[i].wanted[n].pair;
            near_value(cases[i].options, pair, scaled.frequency[pair] / rope.frequency[pair],
                       cases[i].wanted[n].ratio, 2e-4 * cases[i].wanted[n].ratio);
        }
    }
    Rope yarn, other_length; /* frequencies themselves: src/selftest.c, tests/vectors/rope.h */
    rope_make(&yarn, "scaling=yarn factor=4 original_length=2048", 64, 64);
    rope_make(&other_length, "scaling=yarn factor=4 original_length=2048", 64, 9000);
    ck_assert_mem_eq(yarn.frequency, other_length.frequency, sizeof yarn.frequency);
}
END_TEST

/* B19: bounds of the ramp that meet, cross, or lie outside of the pairs. Frequencies stay between
   those of rope and their s-th part, and keep their order. */
START_TEST(tiny_and_huge_lengths) {
    for (int width = 2; width <= 32; width *= 2)
        for (double length = 1; length < 1e7; length *= 3)
            for (int n = 0; n < 6; n++) {
                static const char *const kinds[] = {"yarn", "yarn ramp=paper",
                                                    "yarn beta_fast=2 beta_slow=1.9", "llama3",
                                                    "ntk", "dynamic"};
                char options[120];
                Rope rope, scaled;
                snprintf(options, sizeof options, "original_length=%.0f factor=4 scaling=%s",
                         length, kinds[n]);
                rope_make(&rope, "", width, 64);
                rope_make(&scaled, options, width, (size_t)(n == 5 ? length * 4 : length));
                for (size_t c = 0; c < scaled.pairs; c++) {
                    const double ratio = scaled.frequency[c] / rope.frequency[c];
                    /* factor f at f times the length is more than ntk: (f f - (f - 1)) */
                    const double least = n == 5 ? 1 / 13.0 : 0.25;
                    if (!(ratio >= least * (1 - 1e-12) && ratio <= 1))
                        ck_abort_msg("%s, width %d: ratio[%zu] is %g", options, width, c, ratio);
                    ck_assert(!c || scaled.frequency[c] < scaled.frequency[c - 1]);
                }
            }
}
END_TEST

/* ---- magnitude ------------------------------------------------------------------------------ */

/* B18: once to q and once to k. */
START_TEST(magnitudes) {
    static const double wanted[][2] = {{1, 1}, {2, 1.069314718}, {4, 1.138629436},
                                       {8, 1.207944154}, {16, 1.277258872}, {32, 1.346573590},
                                       {40, 1.368887945}, {64, 1.415888308}, {128, 1.485203026}};
    Rope rope;
    char options[100];
    for (size_t i = 0; i < COUNT(wanted); i++) {
        snprintf(options, sizeof options, "scaling=yarn factor=%g", wanted[i][0]);
        rope_make(&rope, options, 8, 64);
        near_value("magnitude", i, magnitude(&rope), wanted[i][1], TOLERANCE(1.3e-7, 6e-10));
    }
    static const double growth[][2] = {{4, 1.296476993}, {128, 2.205828030}};
    for (size_t i = 0; i < COUNT(growth); i++) {
        GoldenAttention attention[3];
        static const char *const factors[] = {"", " attention_factor=1", " attention_factor=0.5"};
        for (int n = 0; n < 3; n++) {
            snprintf(options, sizeof options, "scaling=yarn factor=%g%s", growth[i][0], factors[n]);
            attention[n] = golden_attention("rope", options, 9, true, NULL, 1);
        }
        for (size_t row = 0; row < (size_t)GOLDEN_HEADS * 9; row++)
            for (size_t j = 0; j <= row % 9; j++) {
                const double off = attention[1].score[row * 9 + j];
                near_value("score", j, attention[0].score[row * 9 + j], growth[i][1] * off,
                           TOLERANCE(5e-6, 1e-8));
                near_value("score", j, attention[2].score[row * 9 + j], 0.25 * off,
                           TOLERANCE(1e-6, 1e-14));
            }
        for (int n = 0; n < 3; n++) golden_attention_free(&attention[n]);
    }
    /* other scalings have none, and partial rotation leaves the rest of the head as it is */
    rope_make(&rope, "scaling=llama3 factor=8 attention_factor=3", 8, 64);
    ck_assert(magnitude(&rope) == 1);
    rope_make(&rope, "scaling=yarn factor=8 fraction=0.5", 8, 64);
    double x[8] = {1, 1, 1, 1, 2, 3, 4, 5}, out[8];
    turn(&rope, 3, false, x, out);
    ck_assert_mem_eq(out + 4, x + 4, 4 * sizeof *x);
}
END_TEST

/* B09: backward has the same angles and the same magnitude. */
START_TEST(backward_of_yarn) {
    Rope rope;
    double out[4];
    rope_make(&rope, "layout=interleaved scaling=yarn factor=4 original_length=2048", 4, 64);
    static const double upstream[] = {1, 0, 0, 0};
    turn(&rope, 1, true, upstream, out);
    static const double wanted[] = {0.615204110, -0.958123633, 0, 0};
    for (size_t c = 0; c < 4; c++)
        near_value("gradient", c, out[c], wanted[c], TOLERANCE(1.3e-7, 6e-10));
}
END_TEST

/* ---- p-RoPE --------------------------------------------------------------------------------- */

START_TEST(slow_pairs_stand_still) {
    Rope rope, part;
    double x[16], turned[16], found[16];
    for (size_t c = 0; c < 16; c++) x[c] = (double)c - 7.25;
    rope_make(&rope, "layout=interleaved", 16, 64);
    rope_make(&part, "layout=interleaved turning=0.75", 16, 64);
    turn(&rope, 11, false, x, turned);
    turn(&part, 11, false, x, found);
    ck_assert_mem_eq(found, turned, 12 * sizeof *x);
    ck_assert_mem_eq(found + 12, x + 12, 4 * sizeof *x);
    ck_assert_mem_eq(part.frequency, rope.frequency, 6 * sizeof(double));
    for (size_t c = 6; c < 8; c++) ck_assert(part.frequency[c] == 0 && isinf(part.wavelength[c]));

    GoldenAttention none = golden_attention("rope", "turning=0", 9, true, NULL, 1);
    GoldenAttention nope = golden_attention("nope", "", 9, true, NULL, 1);
    ck_assert_mem_eq(none.score, nope.score, GOLDEN_HEADS * 81 * sizeof(double));
    ck_assert_mem_eq(none.o, nope.o, GOLDEN_WIDTH * 9 * sizeof(double));
    golden_attention_free(&none);
    golden_attention_free(&nope);
}
END_TEST

/* ---- properties ----------------------------------------------------------------------------- */

/* Scores of positions that all moved: the same wherever only distance counts. */
START_TEST(shifted_positions) {
    static const struct {
        const char *encoding, *options;
        bool same;
    } cases[] = {{"rope", "", true},
                 {"rope", "turning=0.5", true},
                 {"rope", "scaling=linear factor=3", true},
                 {"rope", "scaling=ntk factor=3", true},
                 {"rope", "scaling=yarn factor=3", true},
                 {"rope", "scaling=llama3 factor=3", true},
                 {"rope", "scaling=dynamic factor=3 original_length=9", false},
                 {"xpos", "", true},
                 {"shaw", "", true},
                 {"transformer_xl", "", true},
                 {"deberta", "", true},
                 {"t5", "", true},
                 {"alibi", "", true},
                 {"kerple", "", true},
                 {"sandwich", "", true},
                 {"sinusoidal", "", false},
                 {"learned", "", false}};
    enum { LENGTH = 9, VOCABULARY = 7 };
    static const int32_t tokens[LENGTH] = {3, 1, 4, 1, 5, 2, 6, 5, 3};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const Encoding *encoding = encoding_find(cases[i].encoding);
        const KindOptions options = golden_options(encoding, cases[i].options);
        SmallModelOwner *owner = small_model_create(
            &(SmallModel){.encoding = encoding, .encoding_options = &options});
        Engine *engine = engine_create(owner->model);
        double positions[LENGTH];
        for (size_t n = 0; n < LENGTH; n++) positions[n] = 40 + (double)n;
        real logits[2][LENGTH * VOCABULARY];
        for (int moved = 0; moved < 2; moved++)
            engine_forward(engine,
                           &(Batch){.items = 1,
                                    .length = LENGTH,
                                    .tokens = tokens,
                                    .positions = moved ? positions : NULL},
                           &(ModelOutput){.logits = logits[moved]});
        double far = 0;
        for (size_t n = 0; n < COUNT(logits[0]); n++)
            far = fmax(far, fabs((double)(logits[0][n] - logits[1][n])));
        if (cases[i].same ? far > TOLERANCE_LOGITS : far < 1e-3)
            ck_abort_msg("%s %s: logits move by %g", cases[i].encoding, cases[i].options, far);
        engine_free(engine);
        small_model_free(owner);
    }
}
END_TEST

START_TEST(refused) {
    static const char *const cases[][2] = {
        {"scaling=linear", "factor = 0 (not given)"},
        {"scaling=yarn factor=0.5", "factor = 0.5; scaling = yarn needs at least 1"},
        {"scaling=dynamic factor=0.999", "factor = 0.999"},
        {"scaling=llama3 factor=8 low_factor=4", "low_factor = 4 must be below high_factor = 4"},
        {"scaling=yarn factor=8 beta_slow=32", "beta_slow = 32 must be below beta_fast = 32"},
        {"turning=0.3", "turning = 0.3 of 8 pairs gives 2.4"},
    };
    const Encoding *encoding = encoding_find("rope");
    for (size_t i = 0; i < COUNT(cases); i++) {
        const KindOptions options = golden_options(encoding, cases[i][0]);
        EncodingShape shape = {.head_width = 16, .trained_length = 64, .options = &options};
        const char *reason = encoding->refuse(&shape);
        ck_assert_msg(reason && !strncmp(reason, cases[i][1], strlen(cases[i][1])), "%s: %s",
                      cases[i][0], reason);
    }
    const KindOptions options = golden_options(encoding, "scaling=ntk factor=2");
    EncodingShape shape = {.head_width = 16, .options = &options};
    const char *reason = encoding->refuse(&shape);
    ck_assert_msg(reason && strstr(reason, "original_length is missing"), "%s", reason);
}
END_TEST

#ifdef REAL_DOUBLE
static const char *const variants[] = {
    "scaling=yarn factor=4 original_length=100", "scaling=dynamic factor=2 original_length=100",
    "scaling=ntk factor=8 layout=interleaved", "turning=0.5"};

START_TEST(gradients) { golden_gradients("rope", variants[_i]); }
END_TEST
#endif

Suite *suite_rotary(void);
Suite *suite_rotary(void) {
    Suite *suite = suite_create("rotary");
    TCase *tests = tcase_create("rotary");
    tcase_add_loop_test(tests, frequencies_of_transformers, 0, COUNT(rope_cases));
    tcase_add_test(tests, dynamic_follows_the_length);
    tcase_add_test(tests, linear_divides);
    tcase_add_test(tests, factor_of_one_is_rope);
    tcase_add_test(tests, ratios);
    tcase_add_test(tests, tiny_and_huge_lengths);
    tcase_add_test(tests, magnitudes);
    tcase_add_test(tests, backward_of_yarn);
    tcase_add_test(tests, slow_pairs_stand_still);
    tcase_add_test(tests, shifted_positions);
    tcase_add_test(tests, refused);
#ifdef REAL_DOUBLE
    tcase_add_loop_test(tests, gradients, 0, COUNT(variants));
#endif
    suite_add_tcase(suite, tests);
    return suite;
}
