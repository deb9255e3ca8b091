#include "src/selftest.h"

#include "src/config.h"
#include "src/optim.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

/* Logits of a model with the weights of `pattern`, in double, by another program. */
typedef struct {
    const char *encoding;
    const char *options; /* all of them: "clip=3 values=false" */
    const char *linear;  /* options of linear attention, "": softmax */
    bool causal;
    bool jumps; /* positions are n + n / 3 instead of n */
    bool moves; /* do logits depend on where positions start? */
    const double *logits; /* [VECTOR_LENGTH, VECTOR_VOCABULARY] */
} TorchVector;

#include "src/selftest_vectors.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Of the largest logit: some roundings, whatever their order. */
static const double NEAR = sizeof(real) == sizeof(float) ? 1e-5 : 1e-12;

static void record(Selftest *test, bool good, const char *format, ...) PRINTF_LIKE(3, 4);
static void record(Selftest *test, bool good, const char *format, ...) {
    test->cases++;
    if (good || test->failed++) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(test->first, sizeof test->first, format, arguments);
    va_end(arguments);
}

/* ---- a small model --------------------------------------------------------------------------- */

/* Whole numbers 0 ... 1008 without a visible order; scripts/torch_model.py has the same. */
static int pattern(uint64_t seed, uint64_t n) { return (int)((seed + n * (37 * n + 11)) % 1009); }

/* Within 1/2 of 0; of 1 for vectors that are no biases (gains, and what has to be positive). */
static void fill(Model *model) {
    for (int i = 0; i < model->parameter_count; i++) {
        const Parameter *p = &model->parameters[i];
        const size_t length = strlen(p->name);
        const bool bias = length >= 4 && !strcmp(p->name + length - 4, "bias");
        uint64_t seed = 0;
        for (size_t c = 0; c < length; c++) seed += (c + 1) * (unsigned char)p->name[c];
        for (size_t n = 0; n < p->count; n++)
            model->values[p->offset + n] = (real)((p->rank == 1 && !bias ? 1 : 0) +
                                                  (pattern(seed, n) / 504.0 - 1) / 2);
    }
}

typedef struct {
    KindOptions options;
    LinearOptions linear;
    Model *model;
} Small;

static void assign(const char *of, const Option *table, void *options, const char *text) {
    option_defaults(table, options);
    const char *unknown = option_assign(table, options, text);
    CHECK(!unknown, "%s has no option %s", of, unknown);
}

static void small_create(Small *small, const Encoding *encoding, const char *options,
                         ModelShape shape) {
    assign(encoding->name, encoding->options, &small->options, options);
    shape.init_std = 1;
    shape.encoding = encoding;
    shape.encoding_options = &small->options;
    shape.positions = position_source_find("plain");
    small->model = model_create(&shape, 1);
    fill(small->model);
}

static void vector_create(Small *small, const Encoding *encoding, const char *options,
                          const char *linear, bool causal, size_t trained_length) {
    for (size_t i = 0; *linear && i < attention_count; i++)
        if (attentions[i]->options)
            assign(attentions[i]->name, attentions[i]->options, &small->linear, linear);
    small_create(small, encoding, options,
                 (ModelShape){.layers = VECTOR_LAYERS,
                              .width = VECTOR_WIDTH,
                              .heads = VECTOR_HEADS,
                              .mlp = VECTOR_MLP * VECTOR_WIDTH,
                              .vocabulary = VECTOR_VOCABULARY,
                              .bias = VECTOR_BIAS,
                              .causal = causal,
                              .trained_length = trained_length,
                              .linear = *linear ? &small->linear : NULL});
}

/* logits[items * length, vocabulary] */
static void forward(Model *model, const Batch *batch, real *logits) {
    Engine *engine = engine_create(model);
    engine_forward(engine, batch, &(ModelOutput){.logits = logits});
    engine_free(engine);
}

/* ---- logits of another program, and positions that start elsewhere ------------------------ */

enum { LOGITS = VECTOR_LENGTH * VECTOR_VOCABULARY };

/* The largest difference as a share of the largest logit; NaN when one is. */
static double apart(const real *found, const double *wanted) {
    double most = 0, largest = 0;
    for (size_t i = 0; i < LOGITS; i++) {
        const double difference = fabs((double)found[i] - wanted[i]);
        if (isnan(difference)) return difference;
        most = fmax(most, difference);
        largest = fmax(largest, fabs(wanted[i]));
    }
    return most / largest;
}

static void vectors(Selftest *test, const Encoding *encoding) {
    for (size_t i = 0; i < COUNT(torch_vectors); i++) {
        const TorchVector *v = &torch_vectors[i];
        if (strcmp(v->encoding, encoding->name)) continue;
        Small small;
        vector_create(&small, encoding, v->options, v->linear, v->causal, VECTOR_TRAINED);
        int32_t tokens[VECTOR_LENGTH];
        double positions[VECTOR_LENGTH], first[LOGITS];
        for (int n = 0; n < VECTOR_LENGTH; n++) {
            tokens[n] = pattern(0, (uint64_t)n) % VECTOR_VOCABULARY;
            positions[n] = n + (v->jumps ? n / 3 : 0);
        }
        Batch batch = {.items = 1, .length = VECTOR_LENGTH, .tokens = tokens};
        if (v->jumps) batch.positions = positions;
        real logits[LOGITS];
        forward(small.model, &batch, logits);
        const double far = apart(logits, v->logits);
        record(test, far <= NEAR, "%s%s%s%s%s: logits are %.1e from PyTorch's", v->options,
               *v->options ? ", " : "", *v->linear ? "linear, " : "",
               v->causal ? "causal" : "both ways", v->jumps ? ", positions that jump" : "", far);

        for (int n = 0; n < VECTOR_LENGTH; n++) positions[n] += 7;
        for (int n = 0; n < LOGITS; n++) first[n] = (double)logits[n];
        batch.positions = positions;
        forward(small.model, &batch, logits);
        const double moved = apart(logits, first);
        record(test, v->moves ? moved > 1e-3 : moved <= NEAR,
               "%s: positions 7 later move logits by %.1e, in PyTorch %s",
               v->options, moved, v->moves ? "they move" : "they do not");
        test->moved += moved > NEAR;
        model_free(small.model);
    }
}

/* ---- published values of tables -------------------------------------------------------------- */

typedef enum { ONES, INDEX } Parameters; /* the encoding's own: all 1, or each its index */

typedef struct {
    const char *encoding, *options;
    int heads, head_width;
    bool both_ways;
    Parameters parameters;
    const char *table; /* as the result file has it, for a model of one layer */
    size_t length;     /* positions or distances */
    int count;
    struct {
        size_t at; /* flat */
        double value;
    } entries[16];
} Published;

static const Published published[] = {
    {"sinusoidal", "scale=1", 1, 4, false, ONES, "table", 2, 8,
     {{0, 0}, {1, 1}, {2, 0}, {3, 1},
      {4, 0.841470985}, {5, 0.540302306}, {6, 0.009999833}, {7, 0.999950000}}},
    {"sinusoidal", "scale=1", 1, 6, false, ONES, "table", 4, 6,
     {{18, 0.141120008}, {19, -0.989992497}, {20, 0.138798101}, {21, 0.990320699},
      {22, 0.006463259}, {23, 0.999979113}}},
    {"sinusoidal", "scale=1", 1, 5, false, ONES, "table", 3, 5,
     {{10, 0.909297427}, {11, -0.416146837}, {12, 0.050216599}, {13, 0.998738351},
      {14, 0.001261914}}},
    {"sinusoidal", "scale=1", 8, 64, false, ONES, "table", 2, 4,
     {{512, 0.841470985}, {513, 0.540302306}, {514, 0.821856190}, {515, 0.569695009}}},
    {"sinusoidal", "", 1, 8, false, ONES, "frequency", 1, 4,
     {{0, 1}, {1, 0.1}, {2, 0.01}, {3, 0.001}}},
    {"sinusoidal", "exponent=tensor2tensor", 1, 8, false, ONES, "frequency", 1, 4,
     {{0, 1}, {1, 0.046415888}, {2, 0.002154435}, {3, 0.0001}}},
    /* the longest wavelengths of rope, in tokens */
    {"rope", "", 1, 8, false, ONES, "wavelength", 1, 1, {{3, 6283.18531}}},
    {"rope", "", 1, 16, false, ONES, "wavelength", 1, 1, {{7, 19869.1765}}},
    {"rope", "", 1, 32, false, ONES, "wavelength", 1, 1, {{15, 35332.9475}}},
    {"rope", "", 1, 64, false, ONES, "wavelength", 1, 1, {{31, 47117.2427}}},
    /* scalings of rope: YaRN's ramp in its code, Llama 3's */
    {"rope", "scaling=yarn factor=4 original_length=2048", 1, 64, false, ONES, "frequency", 1, 4,
     {{9, 0.070663108}, {16, 0.0053846154}, {21, 0.00059284343}, {31, 3.3338036e-05}}},
    {"rope", "scaling=yarn factor=4 original_length=64", 1, 32, false, ONES, "frequency", 1, 3,
     {{0, 1}, {4, 0.04}, {8, 0.0025}}},
    {"rope", "scaling=llama3 factor=32 original_length=8192 base=500000", 1, 64, false, ONES,
     "frequency", 1, 3, {{0, 1}, {15, 0.00129054845}, {31, 9.41830673e-08}}},
    /* the authors' slopes for any number of heads: not sorted, not 2^(-8(h+1)/12) */
    {"alibi", "", 1, 2, false, ONES, "slope", 1, 1, {{0, 0.00390625}}},
    {"alibi", "", 2, 2, false, ONES, "slope", 1, 2, {{0, 0.0625}, {1, 0.00390625}}},
    {"alibi", "", 3, 2, false, ONES, "slope", 1, 3, {{0, 0.0625}, {1, 0.00390625}, {2, 0.25}}},
    {"alibi", "", 6, 2, false, ONES, "slope", 1, 6,
     {{0, 0.25}, {1, 0.0625}, {2, 0.015625}, {3, 0.00390625}, {4, 0.5}, {5, 0.125}}},
    {"alibi", "", 12, 2, false, ONES, "slope", 1, 6,
     {{0, 0.5}, {7, 0.00390625}, {8, 0.707106781}, {9, 0.353553391}, {10, 0.176776695},
      {11, 0.088388348}}},
    {"alibi", "", 16, 2, false, ONES, "slope", 1, 3,
     {{0, 0.707106781}, {1, 0.5}, {15, 0.00390625}}},
    {"alibi", "", 20, 2, false, ONES, "slope", 1, 4,
     {{16, 0.840896415}, {17, 0.594603558}, {18, 0.420448208}, {19, 0.297301779}}},
    {"alibi", "", 40, 2, false, ONES, "slope", 1, 9,
     {{0, 0.840896415}, {32, 0.917004}, {33, 0.771105}, {34, 0.648420}, {35, 0.545254},
      {36, 0.458502}, {37, 0.385553}, {38, 0.324210}, {39, 0.272627}}},
    {"alibi", "", 8, 2, false, ONES, "bias_by_distance", 4, 2, {{0, 0}, {3, -1.5}}},
    /* the bucket of a distance */
    {"t5", "", 1, 4, false, INDEX, "bias_by_distance", 1001, 12,
     {{0, 0}, {15, 15}, {16, 16}, {18, 16}, {19, 17}, {32, 21}, {64, 26}, {99, 30}, {112, 30},
      {113, 31}, {128, 31}, {1000, 31}}},
    {"t5", "", 1, 4, true, INDEX, "bias_by_distance", 129, 12,
     {{0, 0}, {8, 8}, {11, 8}, {12, 9}, {16, 10}, {23, 11}, {32, 12}, {46, 13}, {63, 13},
      {64, 14}, {91, 15}, {128, 15}}},
    {"t5", "buckets=8 max_distance=32", 1, 4, false, INDEX, "bias_by_distance", 33, 7,
     {{3, 3}, {4, 4}, {7, 5}, {11, 5}, {12, 6}, {20, 7}, {32, 7}}},
    {"t5", "buckets=16 max_distance=64", 1, 4, false, INDEX, "bias_by_distance", 65, 9,
     {{8, 8}, {11, 9}, {14, 10}, {18, 11}, {23, 12}, {30, 13}, {39, 14}, {50, 15}, {64, 15}}},
    {"hard_alibi", "", 8, 2, false, ONES, "window", 1, 6,
     {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}, {7, 0}}},
    {"kerple", "", 1, 4, false, ONES, "bias_by_distance", 8, 3,
     {{0, 0}, {1, -0.693147181}, {7, -2.07944154}}},
    {"kerple", "kernel=power", 1, 4, false, ONES, "bias_by_distance", 8, 3,
     {{0, 0}, {1, -1}, {7, -7}}},
};

typedef struct {
    Selftest *test;
    const Published *published;
    bool found;
} Reader;

static void compare_table(void *to, const PositionTable *table) {
    Reader *reader = to;
    const Published *p = reader->published;
    if (strcmp(table->name, p->table)) return;
    reader->found = true;
    size_t count = 1;
    for (int axis = 0; axis < table->rank; axis++) count *= table->dims[axis];
    for (int i = 0; i < p->count; i++) {
        const size_t at = p->entries[i].at;
        const double wanted = p->entries[i].value;
        const double found = at < count ? table->values[at] : (double)NAN;
        record(reader->test, fabs(found - wanted) <= 2e-6 * fabs(wanted) + 1e-9,
               "%s%s%d heads of %d: %s[%zu] is %.9g, published %.9g", p->options,
               *p->options ? ", " : "", p->heads, p->head_width, p->table, at, found, wanted);
    }
}

static void tables(Selftest *test, const Encoding *encoding) {
    for (size_t i = 0; i < COUNT(published); i++) {
        const Published *p = &published[i];
        if (strcmp(p->encoding, encoding->name)) continue;
        Small small;
        small_create(&small, encoding, p->options,
                     (ModelShape){.layers = 1,
                                  .width = p->heads * p->head_width,
                                  .heads = p->heads,
                                  .vocabulary = 2,
                                  .causal = !p->both_ways,
                                  .trained_length = p->length});
        Model *model = small.model;
        for (int k = 0; k < model->parameter_count; k++)
            for (size_t n = 0; n < model->parameters[k].count; n++)
                if (model->parameters[k].encoding_index >= 0)
                    model->values[model->parameters[k].offset + n] =
                        p->parameters == ONES ? 1 : (real)n;
        Reader reader = {test, p, false};
        model_tables(model, p->length, compare_table, &reader);
        if (!reader.found) record(test, false, "there is no table %s", p->table);
        model_free(model);
    }
}

/* ---- what holds for every encoding ---------------------------------------------------------- */

/* +1 or -1, the same whatever the gradient: a component that is missing there still moves. */
static double sign(size_t k) { return pattern(1, k) > 504 ? 1 : -1; }

Slope selftest_slope(Model *model, const Batch *batch, double weight, double step,
                     const Parameter *only) {
    const size_t tokens = batch->items * batch->length;
    const size_t from = only ? only->offset : 0, count = only ? only->count : model->count;
    real *gradients = ALLOCATE(model->count, real), *values = ALLOCATE(model->count, real);
    real *losses = ALLOCATE(tokens, real);
    const ModelOutput output = {.loss = losses};
    const double length = sqrt((double)count);
    Slope slope = {0};
    Engine *engine = engine_create(model);
    engine_gradient(engine, batch, weight, false, gradients, &output);
    memcpy(values, model->values, model->count * sizeof(real));
    for (size_t k = from; k < from + count; k++)
        slope.said += (double)gradients[k] * sign(k) / length;
    slope.usual = optim_norm(count, gradients + from) / length;
    for (int side = -1; side <= 1; side += 2) {
        for (size_t k = from; k < from + count; k++)
            model->values[k] = (real)((double)values[k] + side * step * sign(k) / length);
        engine_forward(engine, batch, &output);
        for (size_t i = 0; i < tokens; i++)
            if (batch->scored[i]) slope.found += side * weight * (double)losses[i] / (2 * step);
    }
    memcpy(model->values, values, model->count * sizeof(real));
    engine_free(engine);
    free(gradients);
    free(values);
    free(losses);
    return slope;
}

static void set_threads(int threads) {
#ifdef _OPENMP
    omp_set_num_threads(threads);
#else
    (void)threads;
#endif
}
static int threads_now(void) {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/* all[tokens * vocabulary + model->count]: logits, then gradients */
static void everything(Model *model, const Batch *batch, real *all) {
    Engine *engine = engine_create(model);
    engine_gradient(engine, batch, 0.1, false,
                    all + batch->items * batch->length * (size_t)model->shape.vocabulary,
                    &(ModelOutput){.logits = all});
    engine_free(engine);
}

/* Sequences of one tile of keys and of two, each by its driver. */
static const struct {
    size_t items, length;
} shapes[] = {{9, 20}, {1, 290}};
enum { MOST_TOKENS = 290 };

/* Within 3 % of what is usual, and 5e-5: losses have kinks where an encoding has some, and float
   losses are rounded. */
static bool agree(const Slope *slope) {
    return fabs(slope->found - slope->said) <= 0.03 * slope->usual + 5e-5;
}

static void properties(Selftest *test, const Encoding *encoding) {
    int32_t tokens[MOST_TOKENS], targets[MOST_TOKENS];
    uint8_t scored[MOST_TOKENS];
    Small small;
    vector_create(&small, encoding, "", "", true, MOST_TOKENS);
    Model *model = small.model;
    const int vocabulary = model->shape.vocabulary;
    const size_t most = MOST_TOKENS * (size_t)vocabulary + model->count;
    real *first = ALLOCATE(most, real), *second = ALLOCATE(most, real);
    for (size_t s = 0; s < COUNT(shapes); s++) {
        const size_t length = shapes[s].length, count = shapes[s].items * length;
        for (size_t i = 0; i < count; i++) {
            tokens[i] = pattern(3, i) % vocabulary;
            targets[i] = pattern(5, i) % vocabulary;
            scored[i] = true;
        }
        const Batch batch = {.items = shapes[s].items,
                             .length = length,
                             .tokens = tokens,
                             .targets = targets,
                             .scored = scored};
        for (int p = -1; p < model->parameter_count; p++) {
            const Parameter *only = p < 0 ? NULL : &model->parameters[p];
            if (only && only->encoding_index < 0) continue;
            Slope slope = selftest_slope(model, &batch, 1 / (double)count, 5e-3, only);
            if (!agree(&slope)) /* a kink nearby: once more, closer */
                slope = selftest_slope(model, &batch, 1 / (double)count, 1e-3, only);
            record(test, agree(&slope),
                   "length %zu: the loss has a slope of %.3g along %s, the gradient says %.3g",
                   length, slope.found, only ? only->name : "all parameters", slope.said);
        }

        everything(model, &batch, first);
        set_threads(3);
        everything(model, &batch, second);
        set_threads(1);
        const size_t logits = count * (size_t)vocabulary;
        record(test, !memcmp(first, second, (logits + model->count) * sizeof(real)),
               "length %zu: other bits with 3 threads than with 1", length);

        const size_t from = length / 2 + 1;
        for (size_t i = from; i < length; i++) tokens[i] = (tokens[i] + 1) % vocabulary;
        everything(model, &batch, second);
        const size_t before = from * (size_t)vocabulary * sizeof(real);
        record(test, !memcmp(first, second, before) &&
                         memcmp(first, second, length * (size_t)vocabulary * sizeof(real)),
               "length %zu: tokens from %zu on reach earlier logits, or none", length, from);
    }
    free(first);
    free(second);
    model_free(model);
}

/* With one thread, but for the comparison: such small models do not wake others. */
Selftest selftest_encoding(const Encoding *encoding) {
    Selftest test = {0};
    const int threads = threads_now();
    set_threads(1);
    vectors(&test, encoding);
    record(&test, test.cases > 0, "no logits of another program: make torch-vectors");
    tables(&test, encoding);
    properties(&test, encoding);
    set_threads(threads);
    return test;
}
