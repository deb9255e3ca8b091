/* biases: encodings that change scores by the distance: alibi, t5, kerple, hard_alibi, xpos,
   sandwich. Values come from scripts/golden/biases.py, from the papers and from public bug reports;
   limits tie one encoding to another. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/gemm.h"
#include "src/model/engine.h"
#include "tests/attention_probe.h"
#include "tests/gradient_check.h"
#include "tests/tolerance.h"
#include "tests/vectors/biases.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void near_value(const char *what, size_t at, double found, double wanted, double bound) {
    if (!(fabs(found - wanted) <= bound))
        ck_abort_msg("%s[%zu] is %.12g, wanted %.12g within %.2g", what, at, found, wanted, bound);
}

/* ---- an encoding without a model ------------------------------------------------------------ */

typedef struct {
    const Encoding *encoding;
    KindOptions options;
    EncodingShape shape;
} Alone;

static void alone(Alone *a, const char *name, int heads, bool causal) {
    memset(a, 0, sizeof *a);
    a->encoding = encoding_find(name);
    ck_assert_ptr_nonnull(a->encoding);
    option_defaults(a->encoding->options, &a->options);
    a->shape = (EncodingShape){.layers = 2,
                               .heads = heads,
                               .width = 8 * heads,
                               .head_width = 8,
                               .qk_width = 8,
                               .causal = causal,
                               .trained_length = 64,
                               .options = &a->options};
}

static void set(Alone *a, const char *option, double value) {
    small_option(a->encoding->options, &a->options, option, value);
}

/* The bias of one head at one distance. */
static double bias_at(const Alone *a, int head, const real *const *parameters, double distance) {
    const Site site = {.shape = &a->shape, .head = head, .parameters = parameters};
    real out;
    a->encoding->bias(&site, 1, &distance, &out);
    return (double)out;
}

typedef struct {
    const char *name;
    size_t count;
    double values[256];
    char convention[256];
} OneTable;

static void keep_table(void *to, const PositionTable *t) {
    OneTable *one = to;
    if (strcmp(one->name, t->name)) return;
    one->count = 1;
    for (int axis = 0; axis < t->rank; axis++) one->count *= t->dims[axis];
    ck_assert_uint_le(one->count, COUNT(one->values));
    memcpy(one->values, t->values, one->count * sizeof(double));
    strncpy(one->convention, t->convention, sizeof one->convention - 1);
}

static OneTable table_of(const Alone *a, const real *const *const *parameters, size_t length,
                         const char *name) {
    OneTable one = {.name = name};
    a->encoding->tables(&a->shape, parameters, length, keep_table, &one);
    ck_assert_msg(one.count > 0, "%s has no table %s", a->encoding->name, name);
    return one;
}

/* ---- scores through the engine -------------------------------------------------------------- */

enum { LENGTH = 6, HEADS = 2, D = 8, SCORES = HEADS * LENGTH * LENGTH };

/* scores[HEADS, LENGTH, LENGTH] with q and k as scripts/golden/biases.py makes them, or 0. */
static void probe_scores(Model *model, bool content, const double *positions, double *scores) {
    enum { SIZE = HEADS * LENGTH * D };
    double q[SIZE] = {0}, k[SIZE] = {0}, v[SIZE] = {0};
    for (size_t i = 0; content && i < SIZE; i++) {
        q[i] = sin(0.7 * (double)i + 0.1);
        k[i] = sin(1.3 * (double)i + 0.5);
    }
    attention_probe(model, &(AttentionProbe){.length = LENGTH,
                                             .q = q,
                                             .k = k,
                                             .v = v,
                                             .positions = positions,
                                             .score = scores});
}

static SmallModelOwner *small(const Alone *a, int heads, bool bidirectional) {
    return small_model_create(&(SmallModel){.encoding = a->encoding,
                                            .encoding_options = &a->options,
                                            .heads = heads,
                                            .head_width = D,
                                            .bidirectional = bidirectional});
}

/* Logits of the model on a small batch; the caller frees them. */
static real *logits_of(Model *model, size_t length, size_t *count) {
    SmallBatch *b = small_batch_create(model, 2, length, 1);
    *count = 2 * length * (size_t)model->shape.vocabulary;
    real *logits = ALLOCATE(*count, real);
    b->output.logits = logits;
    Engine *engine = engine_create(model);
    engine_forward(engine, &b->batch, &b->output);
    b->output.logits = NULL;
    engine_free(engine);
    small_batch_free(b);
    return logits;
}

static void same_logits(const char *what, Model *a, Model *b, double bound) {
    size_t count;
    real *x = logits_of(a, 40, &count), *y = logits_of(b, 40, &count);
    for (size_t i = 0; i < count; i++) near_value(what, i, (double)x[i], (double)y[i], bound);
    free(x);
    free(y);
}

/* ---- alibi ---------------------------------------------------------------------------------- */

/* B21: the authors' slopes, in their order, for any number of heads. */
START_TEST(alibi_slopes) {
    const double *wanted = golden_slopes;
    for (int heads = 1; heads <= 40; wanted += heads++) {
        Alone a;
        alone(&a, "alibi", heads, true);
        const OneTable slope = table_of(&a, NULL, 1, "slope");
        ck_assert_uint_eq(slope.count, (size_t)heads);
        for (size_t h = 0; h < slope.count; h++)
            near_value("slope", h, slope.values[h], wanted[h], 1e-14);
    }
    ck_assert_uint_eq((size_t)(wanted - golden_slopes), COUNT(golden_slopes));
    static const struct {
        int heads, from;
        double slopes[8];
    } published[] = {
        {1, 0, {0.00390625}},
        {3, 0, {0.0625, 0.00390625, 0.25}},
        {6, 0, {0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125}},
        {8, 0, {0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625}},
        {12, 8, {0.707106781, 0.353553391, 0.176776695, 0.088388348}},
        {20, 16, {0.840896415, 0.594603558, 0.420448208, 0.297301779}},
        {40, 32, {0.917004, 0.771105, 0.648420, 0.545254, 0.458502, 0.385553, 0.324210, 0.272627}},
    };
    for (size_t i = 0; i < COUNT(published); i++) {
        Alone a;
        alone(&a, "alibi", published[i].heads, true);
        const OneTable slope = table_of(&a, NULL, 1, "slope");
        const size_t from = (size_t)published[i].from;
        for (size_t h = 0; from + h < slope.count; h++)
            near_value("published", h, slope.values[from + h], published[i].slopes[h], 5e-7);
    }
}
END_TEST

/* B22: zero on the diagonal, and the form slope * key gives the same probabilities. */
START_TEST(alibi_bias) {
    Alone a;
    alone(&a, "alibi", 8, true);
    ck_assert(bias_at(&a, 0, NULL, 5 - 2) == -1.5 && bias_at(&a, 0, NULL, 0) == 0);
    ck_assert(bias_at(&a, 0, NULL, -3) == -1.5);
    const OneTable table = table_of(&a, NULL, 4, "bias_by_distance");
    ck_assert_uint_eq(table.count, 8 * 4);
    for (size_t i = 0; i < table.count; i++)
        near_value("table", i, table.values[i], -golden_slopes[28 + i / 4] * (double)(i % 4), 0);

    gemm_start();
    alone(&a, "alibi", HEADS, true);
    Alone none;
    alone(&none, "nope", HEADS, true);
    SmallModelOwner *owner = small(&a, HEADS, false), *plain = small(&none, HEADS, false);
    double scores[SCORES], content[SCORES];
    probe_scores(owner->model, true, NULL, scores);
    probe_scores(plain->model, true, NULL, content);
    for (size_t row = 0; row < HEADS * LENGTH; row++) {
        const double slope = golden_slopes[1 + row / LENGTH];
        const size_t query = row % LENGTH;
        double sum = 0, other = 0;
        for (size_t key = 0; key <= query; key++) {
            sum += exp(scores[row * LENGTH + key]);
            other += exp(content[row * LENGTH + key] + slope * (double)key);
        }
        for (size_t key = 0; key <= query; key++)
            near_value("probability", key, exp(scores[row * LENGTH + key]) / sum,
                       exp(content[row * LENGTH + key] + slope * (double)key) / other,
                       TOLERANCE_ATTENTION);
    }
    small_model_free(owner);
    small_model_free(plain);
}
END_TEST

/* ---- t5 ------------------------------------------------------------------------------------- */

static void t5_alone(Alone *a, bool causal, double buckets, double max_distance) {
    alone(a, "t5", HEADS, causal);
    set(a, "buckets", buckets);
    set(a, "max_distance", max_distance);
}

/* The bucket of a distance, seen through a table that holds its own index. */
static int bucket_of(const Alone *a, double distance) {
    EncodingParameter list[ENCODING_PARAMETERS];
    a->encoding->parameters(&a->shape, list);
    const size_t buckets = list[0].dims[1];
    real *table = ALLOCATE(HEADS * buckets, real);
    for (size_t i = 0; i < HEADS * buckets; i++)
        table[i] = (real)(1000 * (i / buckets) + i % buckets);
    const real *const parameters[] = {table};
    const double first = bias_at(a, 0, parameters, distance);
    ck_assert(bias_at(a, 1, parameters, distance) == first + 1000);
    free(table);
    return (int)first;
}

/* B26, B27 */
START_TEST(t5_buckets) {
    static const struct {
        bool causal;
        double buckets, max_distance;
        const int *wanted;
    } cases[] = {
        {true, 32, 128, golden_causal_32_128}, {true, 32, 256, golden_causal_32_256},
        {true, 8, 32, golden_causal_8_32},     {true, 16, 64, golden_causal_16_64},
        {true, 7, 20, golden_causal_7_20},     {false, 32, 128, golden_both_32_128},
        {false, 8, 20, golden_both_8_20},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Alone a;
        t5_alone(&a, cases[i].causal, cases[i].buckets, cases[i].max_distance);
        for (int n = -300; n <= 300; n++)
            ck_assert_msg(bucket_of(&a, n) == cases[i].wanted[n + 300],
                          "%g buckets, %g: distance %d is in %d, not %d", cases[i].buckets,
                          cases[i].max_distance, n, bucket_of(&a, n), cases[i].wanted[n + 300]);
    }
    Alone causal, both;
    t5_alone(&causal, true, 32, 128);
    t5_alone(&both, false, 32, 128);
    static const int starts[] = {16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113};
    for (int n = 0; n < 16; n++) {
        ck_assert_int_eq(bucket_of(&causal, n), n);
        ck_assert_int_eq(bucket_of(&causal, starts[n]), 16 + n);
        ck_assert_int_eq(bucket_of(&causal, starts[n] - 1), 15 + n);
    }
    ck_assert_int_eq(bucket_of(&causal, 1000000), 31);
    ck_assert_int_eq(bucket_of(&causal, -5), 0);
    static const struct {
        int distance, bucket;
    } known[] = {{8, 8},   {11, 8},  {12, 9},  {16, 10}, {23, 11},  {32, 12},    {46, 13},
                 {64, 14}, {91, 15}, {-1, 17}, {-8, 24}, {-16, 26}, {-128, 31}, {5000, 15}};
    for (size_t i = 0; i < COUNT(known); i++)
        ck_assert_int_eq(bucket_of(&both, known[i].distance), known[i].bucket);
}
END_TEST

/* B28: sizes that would divide by zero, with the rule that they break. */
START_TEST(t5_refuses_degenerate_sizes) {
    static const struct {
        bool causal;
        double buckets, max_distance;
        const char *says; /* NULL: accepted */
    } cases[] = {
        {true, 32, 128, NULL},  {true, 32, 17, NULL},
        {true, 2, 2, NULL},     {true, 31, 16, NULL},
        {true, 32, 16, "max_distance > buckets/2 = 16"},
        {true, 32, 8, "max_distance > buckets/2 = 16"},
        {false, 32, 9, NULL},   {false, 4, 2, NULL},
        {false, 32, 8, "max_distance > buckets/4 = 8"},
        {false, 33, 128, "buckets = 33: a bidirectional model needs an even number"},
        {false, 2, 128, "at least 4"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Alone a;
        t5_alone(&a, cases[i].causal, cases[i].buckets, cases[i].max_distance);
        const char *reason = a.encoding->refuse(&a.shape);
        if (!cases[i].says)
            ck_assert_msg(!reason, "%s", reason);
        else
            ck_assert_msg(reason && strstr(reason, cases[i].says), "case %zu: %s", i, reason);
    }
    ck_assert(option_find(encoding_find("t5")->options, "buckets")->min == 2);
}
END_TEST

/* B29: the gradient of the shared table is the sum of both layers' when each has the same table. */
START_TEST(t5_is_shared_by_layers) {
    gemm_start();
    Alone a;
    t5_alone(&a, true, 8, 32);
    SmallModelOwner *shared = small(&a, HEADS, false);
    set(&a, "share", false);
    SmallModelOwner *apart = small(&a, HEADS, false);
    enum { SIZE = HEADS * 8 };
    const size_t size = SIZE * sizeof(real);
    const Model *one = shared->model, *two = apart->model;
    ck_assert_uint_eq(one->count + SIZE, two->count);
    const size_t first = one->layers[0].encoding[0];
    ck_assert_uint_eq(one->layers[1].encoding[0], first);
    memcpy(apart->model->values, one->values, one->count * sizeof(real));
    ck_assert_uint_eq(two->layers[0].encoding[0], first);
    const size_t second = two->layers[1].encoding[0];
    memcpy(apart->model->values + second, one->values + first, size);
    same_logits("shared", shared->model, apart->model, 0);

    SmallBatch *b = small_batch_create(one, 3, 30, 1);
    real *together = ALLOCATE(one->count, real), *separate = ALLOCATE(two->count, real);
    Engine *engine = engine_create(shared->model);
    engine_gradient(engine, &b->batch, 1, false, together, &b->output);
    engine_free(engine);
    engine = engine_create(apart->model);
    engine_gradient(engine, &b->batch, 1, false, separate, &b->output);
    engine_free(engine);
    double norm = 0;
    for (size_t i = 0; i < SIZE; i++) {
        const double x = (double)separate[first + i], y = (double)separate[second + i];
        ck_assert(x != 0 && y != 0);
        near_value("gradient", i, (double)together[first + i], x + y, TOLERANCE(1e-5, 1e-12));
        norm += x * x + y * y;
    }
    ck_assert(norm > 1e-2);
    free(together);
    free(separate);
    small_batch_free(b);

    /* What the tables say. */
    const real *values[2][1] = {{two->values + first}, {two->values + second}};
    const real *const *const layers[] = {values[0], values[1]};
    const OneTable of_layers = table_of(&a, layers, 5, "bias");
    ck_assert_uint_eq(of_layers.count, 2 * SIZE);
    ck_assert_uint_eq(table_of(&a, layers, 5, "bias_by_distance").count, 2 * HEADS * 5);
    ck_assert_ptr_null(strstr(of_layers.convention, "shared"));
    set(&a, "share", true);
    const OneTable of_all = table_of(&a, layers, 30, "bias");
    ck_assert_uint_eq(of_all.count, SIZE);
    ck_assert_ptr_nonnull(strstr(of_all.convention, "shared by all layers"));
    const OneTable by_distance = table_of(&a, layers, 30, "bias_by_distance");
    ck_assert_uint_eq(by_distance.count, HEADS * 30);
    for (size_t i = 0; i < by_distance.count; i++)
        ck_assert(by_distance.values[i] ==
                  of_all.values[i / 30 * 8 + (size_t)golden_causal_8_32[300 + i % 30]]);
    small_model_free(shared);
    small_model_free(apart);
}
END_TEST

/* ---- kerple --------------------------------------------------------------------------------- */

START_TEST(kerple_values) {
    static const real r1[] = {(real)0.5, (real)1.25}, r2[] = {2, (real)0.0625};
    const real *const parameters[] = {r1, r2};
    for (int power = 0; power <= 1; power++) {
        const double *wanted = power ? golden_kerple_power : golden_kerple_log;
        Alone a;
        alone(&a, "kerple", HEADS, true);
        set(&a, "kernel", power);
        for (int head = 0; head < HEADS; head++)
            for (size_t i = 0; i < COUNT(golden_far); i++, wanted++) {
                const double bound = TOLERANCE(6e-8, 1e-15) * fmax(1, fabs(*wanted));
                near_value("bias", i, bias_at(&a, head, parameters, golden_far[i]), *wanted, bound);
                near_value("ahead", i, bias_at(&a, head, parameters, -golden_far[i]), *wanted,
                           bound);
            }
    }
}
END_TEST

START_TEST(kerple_power_of_one_is_alibi) {
    gemm_start();
    Alone kerple, alibi;
    alone(&kerple, "kerple", 3, true);
    alone(&alibi, "alibi", 3, true);
    set(&kerple, "kernel", 1);
    for (int bidirectional = 0; bidirectional <= 1; bidirectional++) {
        SmallModelOwner *learned = small(&kerple, 3, bidirectional);
        SmallModelOwner *fixed = small(&alibi, 3, bidirectional);
        memcpy(learned->model->values, fixed->model->values, fixed->model->count * sizeof(real));
        for (int layer = 0; layer < 2; layer++)
            for (int head = 0; head < 3; head++) {
                const size_t *at = learned->model->layers[layer].encoding;
                learned->model->values[at[0] + (size_t)head] = (real)golden_slopes[3 + head];
                learned->model->values[at[1] + (size_t)head] = 1;
            }
        same_logits("alibi", learned->model, fixed->model, TOLERANCE_LOGITS);
        small_model_free(learned);
        small_model_free(fixed);
    }
}
END_TEST

START_TEST(kerple_stays_in_range) {
    for (int power = 0; power <= 1; power++) {
        Alone a;
        alone(&a, "kerple", 4, true);
        set(&a, "kernel", power);
        real r1[] = {-1, (real)0.005, (real)0.3, 9}, r2[] = {-1, (real)0.005, (real)0.3, 9};
        real *const values[] = {r1, r2};
        a.encoding->project(&a.shape, values);
        const real wanted[] = {(real)0.01, (real)0.01, (real)0.3, 9};
        for (int head = 0; head < 4; head++) {
            ck_assert(r1[head] == wanted[head]);
            ck_assert(r2[head] == (power && head == 3 ? 2 : wanted[head]));
        }
        /* Initial values: inside the range, around the means of the authors' uniform ones. */
        EncodingParameter list[ENCODING_PARAMETERS];
        ck_assert_int_eq(a.encoding->parameters(&a.shape, list), 2);
        const double mean[] = {power ? 0.5 : 1, power ? 1 : 0.5};
        double sum[2] = {0};
        for (int64_t seed = 1; seed <= 25; seed++) {
            const ModelShape shape = {.layers = 1,
                                      .width = 256,
                                      .heads = 64,
                                      .vocabulary = 3,
                                      .causal = true,
                                      .init_std = 0.02,
                                      .encoding = a.encoding,
                                      .encoding_options = &a.options,
                                      .positions = position_source_find("plain"),
                                      .trained_length = 64};
            Model *model = model_create(&shape, seed);
            for (int k = 0; k < 2; k++)
                for (size_t head = 0; head < 64; head++) {
                    const double r = (double)model->values[model->layers[0].encoding[k] + head];
                    if (r < 0.01 || r > 2) ck_abort_msg("seed %d: r%d is %g", (int)seed, k + 1, r);
                    sum[k] += r / (25 * 64);
                }
            model_free(model);
        }
        for (size_t k = 0; k < 2; k++)
            near_value("mean", k, sum[k] / mean[k], 1, 4.0 / 6 / sqrt(25 * 64));
    }
}
END_TEST

/* ---- hard_alibi ----------------------------------------------------------------------------- */

START_TEST(hard_alibi_windows) {
    gemm_start();
    enum { MANY = 5, SIZE = MANY * 9 * D };
    static const double zero[SIZE] = {0};
    for (int masked = -1; masked <= MANY; masked++) {
        Alone a;
        alone(&a, "hard_alibi", MANY, true);
        set(&a, "masked", masked);
        SmallModelOwner *owner = small(&a, MANY, false);
        double scores[MANY * 81];
        attention_probe(owner->model,
                        &(AttentionProbe){
                            .length = 9, .q = zero, .k = zero, .v = zero, .score = scores});
        const size_t narrow = masked < 0 ? MANY / 2 : (size_t)masked;
        for (size_t i = 0; i < COUNT(scores); i++) {
            const size_t head = i / 81, query = i / 9 % 9, key = i % 9;
            const bool seen = key <= query && (head >= narrow || query - key <= head);
            if (seen ? scores[i] != 0 : scores[i] != (double)-INFINITY)
                ck_abort_msg("masked %d, head %zu: query %zu, key %zu: %g", masked, head, query,
                             key, scores[i]);
        }
        const OneTable window = table_of(&a, NULL, 9, "window");
        ck_assert_uint_eq(window.count, MANY);
        for (size_t head = 0; head < MANY; head++)
            ck_assert(window.values[head] == (head < narrow ? (double)head + 1 : 0));
        ck_assert_ptr_null(a.encoding->refuse(&a.shape));
        small_model_free(owner);
    }
    Alone a;
    alone(&a, "hard_alibi", MANY, true);
    set(&a, "masked", MANY + 1);
    const char *reason = a.encoding->refuse(&a.shape);
    ck_assert_msg(reason && strstr(reason, "masked = 6") && strstr(reason, "5 heads"), "%s",
                  reason);
}
END_TEST

START_TEST(hard_alibi_without_masks_is_nope) {
    gemm_start();
    Alone hard, nope;
    alone(&hard, "hard_alibi", 3, true);
    alone(&nope, "nope", 3, true);
    set(&hard, "masked", 0);
    SmallModelOwner *one = small(&hard, 3, false), *other = small(&nope, 3, false);
    same_logits("nope", one->model, other->model, 0);
    small_model_free(one);
    small_model_free(other);
}
END_TEST

/* ---- xpos ----------------------------------------------------------------------------------- */

static void xpos_alone(Alone *a, double base, double scale_base) {
    alone(a, "xpos", HEADS, true);
    set(a, "base", base);
    set(a, "scale_base", scale_base);
}

static void check_scores(const char *what, const double *found, const double *wanted,
                         double bound) {
    for (size_t i = 0; i < SCORES; i++) {
        if (i % LENGTH > i / LENGTH % LENGTH)
            ck_assert(found[i] == (double)-INFINITY);
        else
            near_value(what, i, found[i], wanted[i], bound);
    }
}

/* Values, wherever the sequence starts: the centre does not show. */
START_TEST(xpos_scores) {
    gemm_start();
    static const struct {
        double base, scale_base;
        const double *wanted;
    } cases[] = {{10000, 512, golden_xpos}, {100, 4, golden_xpos_short}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        Alone a;
        xpos_alone(&a, cases[i].base, cases[i].scale_base);
        SmallModelOwner *owner = small(&a, HEADS, false);
        double scores[SCORES], positions[LENGTH];
        probe_scores(owner->model, true, NULL, scores);
        check_scores("score", scores, cases[i].wanted, TOLERANCE_OP);
        for (size_t n = 0; n < LENGTH; n++) positions[n] = 5000 + (double)n;
        probe_scores(owner->model, true, positions, scores);
        /* angles of 5000 are known to 5000 * 1.1e-16 */
        check_scores("score far away", scores, cases[i].wanted, TOLERANCE(3e-6, 5e-12));
        small_model_free(owner);
    }
}
END_TEST

START_TEST(xpos_without_decay_is_rope) {
    gemm_start();
    Alone xpos, rope;
    xpos_alone(&xpos, 10000, 1e9);
    alone(&rope, "rope", HEADS, true);
    set(&rope, "layout", 1); /* interleaved */
    SmallModelOwner *one = small(&xpos, HEADS, false), *other = small(&rope, HEADS, false);
    same_logits("rope", one->model, other->model, TOLERANCE(1e-5, 1e-6));
    small_model_free(one);
    small_model_free(other);
}
END_TEST

/* The factors of k stay in the range of a float, or the length is not defined. */
START_TEST(xpos_says_where_it_overflows) {
    gemm_start();
    Alone a;
    xpos_alone(&a, 10000, 4);
    const size_t last = 511; /* ln(1.4 / 0.4) * 511 / 2 / 4 = 80.02 */
    ck_assert_ptr_null(a.encoding->defined(&a.shape, last, (double)last - 1));
    const char *reason = a.encoding->defined(&a.shape, last + 1, (double)last);
    ck_assert_msg(reason && strstr(reason, "length 512") && strstr(reason, "scale_base = 5"), "%s",
                  reason);
    set(&a, "scale_base", 5);
    ck_assert_ptr_null(a.encoding->defined(&a.shape, last + 1, (double)last));
    set(&a, "scale_base", 512);
    ck_assert_ptr_null(a.encoding->defined(&a.shape, 65000, 64999));
    xpos_alone(&a, 10000, 4);
    SmallModelOwner *owner = small(&a, HEADS, false);
    size_t count;
    real *logits = logits_of(owner->model, last, &count);
    for (size_t i = 0; i < count; i++) ck_assert(isfinite(logits[i]));
    free(logits);
    small_model_free(owner);
    const OneTable decay = table_of(&a, NULL, 1, "decay");
    static const double z[] = {0.4 / 1.4, 0.65 / 1.4, 0.9 / 1.4, 1.15 / 1.4};
    for (size_t c = 0; c < COUNT(z); c++) near_value("z", c, pow(decay.values[c], 4), z[c], 1e-14);
}
END_TEST

/* ---- sandwich ------------------------------------------------------------------------------- */

START_TEST(sandwich_values) {
    static const struct {
        double d_bar;
        const double *wanted;
    } cases[] = {{128, golden_sandwich_128}, {6, golden_sandwich_6}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        Alone a;
        alone(&a, "sandwich", 4, true);
        set(&a, "d_bar", cases[i].d_bar);
        ck_assert_ptr_null(a.encoding->refuse(&a.shape));
        const double *wanted = cases[i].wanted;
        for (int head = 0; head < 4; head++)
            for (size_t n = 0; n < COUNT(golden_far); n++, wanted++) {
                const double bound = TOLERANCE(4e-6, 1e-9); /* numpy: sines of large angles */
                near_value("bias", n, bias_at(&a, head, NULL, golden_far[n]), *wanted, bound);
                near_value("ahead", n, bias_at(&a, head, NULL, -golden_far[n]), *wanted, bound);
            }
        ck_assert(bias_at(&a, 0, NULL, 0) == 0);
    }
    Alone a;
    alone(&a, "sandwich", 4, true);
    set(&a, "d_bar", 7);
    ck_assert_ptr_nonnull(strstr(a.encoding->refuse(&a.shape), "d_bar = 7"));
}
END_TEST

/* ---- gradients ------------------------------------------------------------------------------ */

#ifdef REAL_DOUBLE
/* Options whose smallest values the loop over all encodings cannot combine. */
START_TEST(gradients) {
    static const struct {
        const char *encoding;
        bool bidirectional;
        struct {
            const char *name;
            double value;
        } options[3];
    } cases[] = {
        {"t5", false, {{"buckets", 8}, {"max_distance", 7}}},
        {"t5", true, {{"buckets", 8}, {"max_distance", 7}}},
        {"t5", false, {{"buckets", 3}, {"max_distance", 4}, {"share", 0}}},
        {"t5", true, {{"buckets", 4}, {"max_distance", 2}, {"share", 0}}},
        {"xpos", false, {{"scale_base", 4}, {"base", 10}}},
        {"sandwich", true, {{"d_bar", 4}}},
        {"hard_alibi", false, {{"masked", 1}}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Alone a;
        alone(&a, cases[i].encoding, HEADS, !cases[i].bidirectional);
        for (size_t o = 0; o < COUNT(cases[i].options) && cases[i].options[o].name; o++)
            set(&a, cases[i].options[o].name, cases[i].options[o].value);
        SmallModelOwner *owner = small(&a, HEADS, cases[i].bidirectional);
        ck_assert_ptr_null(model_refuse(&owner->model->shape));
        SmallBatch *b = small_batch_create(owner->model, 2, 12, 1);
        ck_assert(gradient_check(cases[i].encoding, owner->model, b, 7) > 100);
        small_batch_free(b);
        small_model_free(owner);
    }
}
END_TEST
#endif

Suite *suite_biases(void);
Suite *suite_biases(void) {
    Suite *suite = suite_create("biases");
    TCase *tests = tcase_create("biases");
    tcase_add_test(tests, alibi_slopes);
    tcase_add_test(tests, alibi_bias);
    tcase_add_test(tests, t5_buckets);
    tcase_add_test(tests, t5_refuses_degenerate_sizes);
    tcase_add_test(tests, t5_is_shared_by_layers);
    tcase_add_test(tests, kerple_values);
    tcase_add_test(tests, kerple_power_of_one_is_alibi);
    tcase_add_test(tests, kerple_stays_in_range);
    tcase_add_test(tests, hard_alibi_windows);
    tcase_add_test(tests, hard_alibi_without_masks_is_nope);
    tcase_add_test(tests, xpos_scores);
    tcase_add_test(tests, xpos_without_decay_is_rope);
    tcase_add_test(tests, xpos_says_where_it_overflows);
    tcase_add_test(tests, sandwich_values);
#ifdef REAL_DOUBLE
    tcase_add_test(tests, gradients);
#endif
    suite_add_tcase(suite, tests);
    return suite;
}
