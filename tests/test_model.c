/* model: the whole forward and backward pass: gradients of every parameter (double build), logits,
   loss and gradients against a plain reference, the same bits for any number of threads and
   whatever was computed before, and what a first step of training must look like. */
#include <check.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/gemm.h"
#include "src/model/engine.h"
#include "src/optim.h"
#include "src/selftest.h"
#include "tests/gradient_check.h"
#include "tests/hook_encodings.h"
#include "tests/naive.h"
#include "tests/tolerance.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- cases --------------------------------------------------------------------------------- */

typedef enum { PLAIN, SHIFTED, GAPS, FRACTIONS, DRAWN } Positions;

/* A model, a batch, and how positions and segments of the batch are. */
typedef struct {
    const char *name;
    SmallModel model; /* without the encoding */
    size_t items, length;
    Positions positions;
    bool packed;   /* padding and two sequences in each item */
    size_t stride; /* every stride-th value of a parameter is checked */
} Case;

typedef struct {
    char name[128];
    SmallModelOwner *owner;
    Model *model;
    SmallBatch *b;
    KindOptions position_options;
} Made;

static bool has_a_meaning(const Case *c, const Encoding *encoding) {
    return !(c->model.bidirectional && encoding->needs_causal) &&
           !(c->positions == FRACTIONS && encoding->needs_whole_positions);
}

static void set_positions(SmallBatch *b, Positions positions) {
    const size_t length = b->batch.length;
    for (size_t i = 0; i < b->batch.items * length; i++) {
        const double n = (double)(i % length), item = (double)(i / length);
        b->positions[i] = positions == SHIFTED ? n + 5 * (1 + item)
                          : positions == GAPS  ? 2 * n + fmod(n * (item + 1), 3)
                                               : 0.75 * n + 0.25 * item;
    }
    if (positions != PLAIN && positions != DRAWN) b->batch.positions = b->positions;
}

/* Two tokens of padding, a sequence, and another that starts again at position 0. */
static void pack(SmallBatch *b) {
    const size_t length = b->batch.length, middle = length / 2 + 1;
    for (size_t i = 0; i < b->batch.items * length; i++) {
        const size_t n = i % length;
        b->segments[i] = n < 2 ? -1 : n < middle ? 4 : 1;
        if (!b->batch.positions)
            b->positions[i] = n < 2 ? 0 : (double)(n < middle ? n - 2 : n - middle);
    }
    b->batch.positions = b->positions;
    b->batch.segments = b->segments;
}

static Made make(const Case *c, const Encoding *encoding, const void *options) {
    Made m = {.name = ""};
    SmallModel wanted = c->model;
    const PositionSource *randomized = position_source_find("randomized");
    option_defaults(randomized->options, &m.position_options);
    small_option(randomized->options, &m.position_options, "N", 40);
    wanted.encoding = encoding;
    wanted.encoding_options = options;
    if (!wanted.trained_length) wanted.trained_length = 2 * c->length + 50; /* gaps included */
    if (c->positions == DRAWN) {
        wanted.positions = randomized;
        wanted.position_options = &m.position_options;
    }
    m.owner = small_model_create(&wanted);
    m.model = m.owner->model;
    m.b = small_batch_create(m.model, c->items, c->length, 1);
    set_positions(m.b, c->positions);
    if (c->packed) pack(m.b);
    snprintf(m.name, sizeof m.name, "%s, %s", encoding->name, c->name);
    return m;
}

static void unmake(Made *m) {
    small_batch_free(m->b);
    small_model_free(m->owner);
}

/* ---- gradients of every parameter ----------------------------------------------------------- */

#ifdef REAL_DOUBLE
#define TWO_HEADS .heads = 2, .mlp = 10, .vocabulary = 5
#define ONE_HEAD  .heads = 1, .layers = 1, .mlp = 6, .vocabulary = 5

/* Both drivers (8 short items or more: sequence by sequence), units whole and cut into groups,
   several tiles, and everything that a model or a batch can have. */
static const Case gradient_cases[] = {
    {"by layer", {TWO_HEADS, .bias = true}, 2, 9, PLAIN, false, 5},
    {"by sequence", {TWO_HEADS, .tied = true}, 9, 5, PLAIN, false, 11},
    {"many heads", {.heads = 8, .head_width = 2, .layers = 1, .mlp = 6}, 2, 9, PLAIN, false, 13},
    {"no MLP", {.heads = 1, .mlp = -1, .vocabulary = 5}, 2, 9, PLAIN, false, 3},
    {"dropout", {TWO_HEADS, .bias = true, .dropout = 0.3}, 2, 7, PLAIN, false, 13},
    {"dropout by sequence", {TWO_HEADS, .tied = true, .dropout = 0.3}, 8, 4, PLAIN, false, 29},
    {"bidirectional", {TWO_HEADS, .bidirectional = true}, 2, 9, PLAIN, false, 7},
    {"groups", {ONE_HEAD}, 1, 70, PLAIN, false, 3},
    {"groups, both ways", {ONE_HEAD, .bidirectional = true}, 1, 70, FRACTIONS, false, 3},
    {"tiles", {ONE_HEAD}, 1, 290, PLAIN, false, 13},
    {"tiles, both ways", {ONE_HEAD, .bidirectional = true}, 1, 290, PLAIN, true, 17},
    {"shifted", {TWO_HEADS}, 2, 9, SHIFTED, false, 7},
    {"gaps", {TWO_HEADS}, 2, 9, GAPS, false, 7},
    {"gaps, both ways", {TWO_HEADS, .bidirectional = true}, 2, 9, GAPS, false, 7},
    {"fractions", {TWO_HEADS}, 2, 9, FRACTIONS, false, 7},
    {"fractions, both ways", {TWO_HEADS, .bidirectional = true}, 8, 5, FRACTIONS, false, 13},
    {"drawn", {TWO_HEADS}, 2, 9, DRAWN, false, 11},
    {"drawn by sequence", {TWO_HEADS}, 8, 5, DRAWN, false, 11},
    {"packed", {TWO_HEADS}, 2, 9, PLAIN, true, 7},
    {"packed, both ways", {TWO_HEADS, .bidirectional = true}, 2, 9, GAPS, true, 7},
};

START_TEST(gradients_of_parameters) {
    const Encoding *encoding = tested_encoding((size_t)_i);
    omp_set_num_threads(1);
    for (size_t i = 0; i < COUNT(gradient_cases); i++) {
        const Case *c = &gradient_cases[i];
        if (!has_a_meaning(c, encoding)) continue;
        Made m = make(c, encoding, NULL);
        ck_assert(gradient_check(m.name, m.model, m.b, c->stride) >= 10);
        unmake(&m);
    }
}
END_TEST

static void with_option(const Encoding *encoding, const Option *option, double value) {
    static const Case causal = {"", {TWO_HEADS}, 2, 9, PLAIN, false, 7};
    static const Case both_ways = {
        "both ways", {TWO_HEADS, .bidirectional = true}, 2, 9, PLAIN, false, 13};
    const Case *cases[] = {&causal, &both_ways};
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (!has_a_meaning(cases[i], encoding)) continue;
        KindOptions options;
        option_defaults(encoding->options, &options);
        small_option(encoding->options, &options, option->name, value);
        Case c = *cases[i];
        char name[64];
        snprintf(name, sizeof name, "%s = %g %s", option->name, value, c.name);
        c.name = name;
        c.model.trained_length = 6; /* shorter than the batch: past_end matters */
        Made m = make(&c, encoding, &options);
        if (!model_refuse(&m.model->shape)) gradient_check(m.name, m.model, m.b, c.stride);
        unmake(&m);
    }
}

/* Every choice, every switch, half of a fraction, and sizes small enough for 9 tokens to pass. */
START_TEST(gradients_of_options) {
    const Encoding *encoding = tested_encoding((size_t)_i);
    omp_set_num_threads(1);
    for (const Option *o = encoding->options; o && o->name; o++) {
        char word[64];
        if (o->type == OPTION_CHOICE)
            for (int index = 0; *option_word(o->words, index, word); index++)
                with_option(encoding, o, index);
        if (o->type == OPTION_BOOLEAN) with_option(encoding, o, o->fallback == 0);
        if (o->type == OPTION_INTEGER) with_option(encoding, o, fmin(fmax(o->min, 3), o->max));
        if (!strcmp(o->name, "fraction")) with_option(encoding, o, 0.5);
    }
}
END_TEST
#endif

/* ---- against the plain model ------------------------------------------------------------------
 */

static const char *const plain_encodings[] = {"nope", "sinusoidal", "learned", "rope"};

static const Case plain_cases[] = {
    {"by layer", {.bias = true}, 3, 11, PLAIN, false, 1},
    {"by sequence", {.tied = true}, 9, 20, PLAIN, false, 1},
    {"no MLP", {.mlp = -1, .layers = 1}, 2, 40, PLAIN, false, 1},
    {"bidirectional", {.bidirectional = true}, 2, 70, PLAIN, false, 1},
    {"long", {.layers = 1, .heads = 2, .bias = true}, 1, 290, PLAIN, false, 1},
    {"gaps", {.heads = 2}, 2, 9, GAPS, false, 1},
    {"packed", {.bias = true}, 2, 17, PLAIN, true, 1},
    {"packed, both ways", {.bidirectional = true, .tied = true}, 8, 17, PLAIN, true, 1},
    {"one token", {.heads = 1}, 1, 1, PLAIN, false, 1},
    {"wide",
     {.heads = 2, .head_width = 36, .mlp = 144, .vocabulary = 67, .init_std = 0.05},
     1,
     100,
     PLAIN,
     false,
     1},
};

static double *widened(const real *from, size_t count) {
    double *to = ALLOCATE(count, double);
    for (size_t i = 0; i < count; i++) to[i] = (double)from[i];
    return to;
}

static double norm_of(const double *x, size_t count) {
    double square = 0;
    for (size_t i = 0; i < count; i++) square += x[i] * x[i];
    return sqrt(square);
}

/* The slope of the reference's loss along a direction. */
static double naive_slope(const Made *m, const double *values, const double *direction,
                          double weight) {
    const double step = 1e-5;
    double *moved = ALLOCATE(m->model->count, double), loss[2];
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < m->model->count; i++)
            moved[i] = values[i] + (side ? step : -step) * direction[i];
        loss[side] = naive_model(m->model, moved, &m->b->batch, weight, NULL);
    }
    free(moved);
    return (loss[1] - loss[0]) / (2 * step);
}

static void one_plain_case(const Case *c, const Encoding *encoding) {
    Made m = make(c, encoding, NULL);
    Model *model = m.model;
    const size_t tokens = c->items * c->length, vocabulary = (size_t)model->shape.vocabulary;
    const double weight = 1 / (double)most(m.b->scored_count, 1);
    double *values = widened(model->values, model->count);
    double *logits = ALLOCATE(tokens * vocabulary, double);
    const double loss = naive_model(model, values, &m.b->batch, weight, logits);
    Engine *engine = engine_create(model);
    real *gradients = ALLOCATE(model->count, real);
    m.b->output.logits = ALLOCATE(tokens * vocabulary, real);

    /* Forward, and again as training does it. */
    for (int training = 0; training <= 1; training++) {
        double sum = 0;
        if (training)
            engine_gradient(engine, &m.b->batch, weight, false, gradients, &m.b->output);
        else
            engine_forward(engine, &m.b->batch, &m.b->output);
        for (size_t i = 0; i < tokens; i++) {
            size_t best = 0;
            for (size_t t = 0; t < vocabulary; t++) {
                const double wanted = logits[i * vocabulary + t];
                const double found = (double)m.b->output.logits[i * vocabulary + t];
                if (!(fabs(found - wanted) <= TOLERANCE_LOGITS * fmax(1, fabs(wanted))))
                    ck_abort_msg("%s: logit %zu of token %zu is %.9g, wanted %.9g", m.name, t, i,
                                 found, wanted);
                if (wanted > logits[i * vocabulary + best]) best = t;
            }
            ck_assert_int_eq(m.b->output.answer[i], (int32_t)best);
            if (m.b->scored[i]) sum += weight * (double)m.b->output.loss[i];
        }
        ck_assert_msg(fabs(sum - loss) <= TOLERANCE_LOGITS * fmax(1, loss), "%s: loss %.9g is %.9g",
                      m.name, loss, sum);
    }

    /* Slopes along the gradient itself and along directions at random. */
    double *gradient = widened(gradients, model->count);
    const double norm = norm_of(gradient, model->count);
    double *direction = ALLOCATE(model->count, double);
    Rng rng = rng_stream(3, RNG_TEST, 4, 0);
    for (int way = 0; way < 4; way++) {
        double along = 0;
        for (size_t i = 0; i < model->count; i++)
            direction[i] = way ? rng_normal(&rng) : gradient[i];
        const double length = norm_of(direction, model->count);
        for (size_t i = 0; i < model->count; i++) {
            direction[i] /= length > 0 ? length : 1;
            along += direction[i] * gradient[i];
        }
        const double slope = naive_slope(&m, values, direction, weight);
        ck_assert_msg(fabs(along - slope) <= TOLERANCE_GRADIENT * fmax(norm, 1e-3),
                      "%s: slope %d is %.9g, wanted %.9g (gradient %.3g)", m.name, way, along,
                      slope, norm);
    }
    double *all[] = {values, logits, gradient, direction};
    for (size_t i = 0; i < COUNT(all); i++) free(all[i]);
    free(gradients);
    engine_free(engine);
    unmake(&m);
}

START_TEST(like_the_plain_model) {
    gemm_start();
    for (size_t c = 0; c < COUNT(plain_cases); c++)
        one_plain_case(&plain_cases[c], encoding_find(plain_encodings[_i]));
}
END_TEST

/* Every encoding, in the build that trains: the loss changes as fast as the gradient says. */
START_TEST(loss_follows_the_gradient) {
    static const Case cases[] = {{"by layer", {.bias = true}, 2, 33, PLAIN, false, 1},
                                 {"by sequence", {.heads = 2}, 9, 20, PLAIN, false, 1},
                                 {"tiles", {.heads = 1, .layers = 1}, 1, 300, PLAIN, false, 1},
                                 {"drawn", {.bias = true}, 3, 30, DRAWN, false, 1}};
    const Encoding *encoding = tested_encoding((size_t)_i);
    gemm_start();
    for (size_t i = 0; i < COUNT(cases); i++) {
        Made m = make(&cases[i], encoding, NULL);
        const Slope slope =
            selftest_slope(m.model, &m.b->batch, 1 / (double)m.b->scored_count, 5e-3, NULL);
        ck_assert_msg(fabs(slope.found - slope.said) < 0.01 * slope.usual,
                      "%s: slope %.6g, gradient %.6g, usual %.6g", m.name, slope.found, slope.said,
                      slope.usual);
        unmake(&m);
    }
}
END_TEST

/* ---- what layers share ------------------------------------------------------------------------
 */

static const Encoding *counted;
static int prepared, prepared_backward;

static void count_prepare(const Site *site, real *out) {
    prepared++;
    counted->prepare(site, out);
}
static void count_prepare_backward(const Site *site, const real *slot, real *const *gradients) {
    prepared_backward++;
    counted->prepare_backward(site, slot, gradients);
}

/* Tables of parameters are made, and turned back into gradients, once a head where all layers have
   the same parameters, and once a layer and head otherwise. */
START_TEST(shared_parameters_are_prepared_once) {
    static const struct {
        const char *name;
        int times;
    } cases[] = {{"tupe", 2}, {"shaw", 2 * 3}};
    omp_set_num_threads(1);
    for (size_t i = 0; i < COUNT(cases); i++) {
        counted = encoding_find(cases[i].name);
        Encoding counting = *counted;
        counting.prepare = count_prepare;
        counting.prepare_backward = count_prepare_backward;
        const Case c = {"prepared", {.layers = 3, .heads = 2}, 2, 9, PLAIN, false, 1};
        Made m = make(&c, &counting, NULL);
        Engine *engine = engine_create(m.model);
        real *gradients = ALLOCATE(m.model->count, real);
        prepared = prepared_backward = 0;
        engine_gradient(engine, &m.b->batch, 1, false, gradients, &m.b->output);
        ck_assert_int_eq(prepared, cases[i].times);
        ck_assert_int_eq(prepared_backward, cases[i].times);
        free(gradients);
        engine_free(engine);
        unmake(&m);
    }
}
END_TEST

/* ---- the same bits --------------------------------------------------------------------------- */

static const Case bit_cases[] = {
    {"T 300, B 1", {.heads = 2, .bias = true}, 1, 300, PLAIN, false, 1},
    {"T 64, B 20", {.tied = true, .dropout = 0.1}, 20, 64, PLAIN, false, 1},
    {"T 40, B 3", {.dropout = 0.2}, 3, 40, DRAWN, false, 1},
    {"T 290, B 2", {.heads = 1, .layers = 1}, 2, 290, GAPS, false, 1},
    {"T 150, B 1, both ways", {.bidirectional = true}, 1, 150, FRACTIONS, true, 1},
    {"T 5, B 9", {.heads = 1, .mlp = -1}, 9, 5, PLAIN, true, 1},
};

/* What a pass tells, one after the other: logits of a forward pass, then gradients, losses. */
static real *everything(const Made *m, Engine *engine, size_t *count) {
    const size_t tokens = m->b->batch.items * m->b->batch.length;
    const size_t logits = tokens * (size_t)m->model->shape.vocabulary;
    *count = 2 * logits + m->model->count + tokens;
    real *all = ALLOCATE(*count, real);
    ModelOutput output = {.loss = m->b->output.loss, .answer = m->b->output.answer, .logits = all};
    engine_forward(engine, &m->b->batch, &output);
    output.logits = all + logits;
    output.loss = all + 2 * logits;
    engine_gradient(engine, &m->b->batch, 0.01, false, all + 2 * logits + tokens, &output);
    return all;
}

static void same_bits(const char *name, const char *event, int value, size_t count,
                      const real *found, const real *wanted) {
    for (size_t i = 0; i < count; i++)
        if (memcmp(&found[i], &wanted[i], sizeof(real)))
            ck_abort_msg("%s, %s %d: number %zu is %.9g, was %.9g", name, event, value, i,
                         (double)found[i], (double)wanted[i]);
}

START_TEST(same_bits_for_any_threads) {
    static const int threads[] = {1, 2, 3, 5, 12};
    const Encoding *encoding = tested_encoding((size_t)_i);
    gemm_start();
    for (size_t c = 0; c < COUNT(bit_cases); c++) {
        if (!has_a_meaning(&bit_cases[c], encoding)) continue;
        Made m = make(&bit_cases[c], encoding, NULL);
        real *first = NULL;
        size_t count = 0;
        for (size_t t = 0; t < COUNT(threads); t++) {
            omp_set_num_threads(threads[t]);
            omp_set_dynamic(threads[t] == 5); /* OpenMP may then take fewer */
            Engine *engine = engine_create(m.model);
            real *all = everything(&m, engine, &count);
            if (first) same_bits(m.name, "threads", threads[t], count, all, first);
            engine_free(engine);
            if (first)
                free(all);
            else
                first = all;
        }
        free(first);
        unmake(&m);
    }
}
END_TEST

/* Memory that other passes left behind, here NaN everywhere, does not reach a result. */
START_TEST(same_bits_whatever_was_before) {
    const Encoding *encoding = tested_encoding((size_t)_i);
    gemm_start();
    omp_set_num_threads(2);
    for (size_t c = 0; c < COUNT(bit_cases); c++) {
        if (!has_a_meaning(&bit_cases[c], encoding)) continue;
        Made m = make(&bit_cases[c], encoding, NULL);
        Engine *fresh = engine_create(m.model), *used = engine_create(m.model);
        size_t count = 0;
        real *wanted = everything(&m, fresh, &count);
        SmallBatch *other = small_batch_create(m.model, 10, m.b->batch.length / 2 + 3, 1);
        real *gradients = ALLOCATE(m.model->count, real);
        engine_gradient(used, &other->batch, 1, false, gradients, &other->output);
        memset(used->arena.base, 0xFF, used->arena.size);
        if (used->by_distance.bias_rows)
            memset(used->by_distance.bias_rows, 0xFF, used->by_distance.rows_room * sizeof(real));
        if (used->by_distance.unit_distances)
            memset(used->by_distance.unit_distances, 0xFF,
                   used->by_distance.distances_room * sizeof(double));
        for (int again = 0; again < 2; again++) {
            real *all = everything(&m, used, &count);
            same_bits(m.name, "pass", again, count, all, wanted);
            free(all);
        }
        free(wanted);
        free(gradients);
        small_batch_free(other);
        engine_free(fresh);
        engine_free(used);
        unmake(&m);
    }
}
END_TEST

/* ---- sums over a batch ------------------------------------------------------------------------
 */

static void near_gradients(const char *name, const Model *model, const real *found,
                           const real *wanted) {
    const double norm = optim_norm(model->count, wanted);
    for (size_t i = 0; i < model->count; i++)
        if (!(fabs((double)(found[i] - wanted[i])) <= TOLERANCE_ORDER * fmax(1, norm)))
            ck_abort_msg("%s: gradient %zu is %.9g, wanted %.9g", name, i, (double)found[i],
                         (double)wanted[i]);
}

/* A part of a batch: its items from first on. */
static Batch part_of(const Batch *batch, size_t first, size_t items) {
    Batch part = *batch;
    const size_t at = first * batch->length;
    part.items = items;
    part.tokens += at;
    part.targets += at;
    part.scored += at;
    if (part.positions) part.positions += at;
    if (part.segments) part.segments += at;
    part.first_item += first;
    return part;
}

/* B41: a batch at once or in parts with different numbers of scored tokens: one mean over all of
   them. The whole runs by sequence and the parts by layer, so the drivers are compared too; and
   an item draws its positions and its dropout by its number. */
START_TEST(parts_of_a_batch) {
    static const Case cases[] = {{"plain", {.bias = true}, 12, 20, PLAIN, false, 1},
                                 {"drawn", {.dropout = 0.3}, 12, 20, DRAWN, false, 1},
                                 {"packed", {.tied = true}, 12, 20, PLAIN, true, 1}};
    const Encoding *encoding = tested_encoding((size_t)_i);
    gemm_start();
    for (size_t c = 0; c < COUNT(cases); c++) {
        Made m = make(&cases[c], encoding, NULL);
        for (size_t i = 0; i < 12 * 20; i++) /* from 0 scored tokens an item to all */
            m.b->scored[i] = i % 20 < i / 20 * 2;
        const size_t size = m.model->count, tokens = 12 * 20;
        real *whole = ALLOCATE(size, real), *parts = ALLOCATE(size, real);
        real *losses = ALLOCATE(tokens, real);
        Engine *engine = engine_create(m.model);
        engine_gradient(engine, &m.b->batch, 0.01, false, whole, &m.b->output);
        ck_assert(engine->by_sequence);
        memcpy(losses, m.b->output.loss, tokens * sizeof(real));
        for (size_t i = 0; i < size; i++) parts[i] = (real)NAN; /* add = false overwrites */
        static const size_t cuts[] = {0, 1, 4, 9, 12};
        for (size_t p = 0; p + 1 < COUNT(cuts); p++) {
            const Batch part = part_of(&m.b->batch, cuts[p], cuts[p + 1] - cuts[p]);
            const ModelOutput output = {.loss = m.b->output.loss + cuts[p] * 20,
                                        .answer = m.b->output.answer + cuts[p] * 20};
            engine_gradient(engine, &part, 0.01, p > 0, parts, &output);
            ck_assert(!engine->by_sequence);
        }
        same_bits(m.name, "loss in parts", 0, tokens, m.b->output.loss, losses);
        near_gradients(m.name, m.model, parts, whole);
        free(whole);
        free(parts);
        free(losses);
        engine_free(engine);
        unmake(&m);
    }
}
END_TEST

START_TEST(nothing_scored) {
    static const Case cases[] = {{"by layer", {.bias = true}, 2, 20, PLAIN, false, 1},
                                 {"by sequence", {.bias = true}, 8, 20, PLAIN, false, 1}};
    gemm_start();
    for (size_t e = 0; e < tested_encodings(); e++)
        for (size_t c = 0; c < COUNT(cases); c++) {
            Made m = make(&cases[c], tested_encoding(e), NULL);
            memset(m.b->scored, 0, cases[c].items * cases[c].length);
            real *gradients = ALLOCATE(m.model->count, real);
            Engine *engine = engine_create(m.model);
            engine_gradient(engine, &m.b->batch, 1, false, gradients, &m.b->output);
            for (size_t i = 0; i < m.model->count; i++)
                if (gradients[i] != 0)
                    ck_abort_msg("%s: gradient %zu is %g", m.name, i, (double)gradients[i]);
            free(gradients);
            engine_free(engine);
            unmake(&m);
        }
}
END_TEST

/* Only what is asked for is told, and asking for less changes nothing. */
START_TEST(outputs_are_optional) {
    gemm_start();
    static const Case cases[] = {{"by layer", {.bias = true}, 2, 20, PLAIN, false, 1},
                                 {"by sequence", {.bias = true}, 8, 20, PLAIN, false, 1}};
    for (size_t c = 0; c < COUNT(cases); c++) {
        Made m = make(&cases[c], encoding_find("rope"), NULL);
        const size_t tokens = cases[c].items * cases[c].length, count = m.model->count;
        real *wanted = ALLOCATE(count, real), *found = ALLOCATE(count, real);
        real *loss = ALLOCATE(tokens, real);
        int32_t *answer = ALLOCATE(tokens, int32_t);
        Engine *engine = engine_create(m.model);
        engine_gradient(engine, &m.b->batch, 1, false, wanted, &m.b->output);
        const ModelOutput outputs[] = {{.loss = loss}, {.answer = answer}, {.loss = NULL}};
        for (size_t o = 0; o < COUNT(outputs); o++) {
            engine_gradient(engine, &m.b->batch, 1, false, found, &outputs[o]);
            ck_assert_mem_eq(found, wanted, count * sizeof(real));
            engine_forward(engine, &m.b->batch, &outputs[o]);
        }
        ck_assert_mem_eq(loss, m.b->output.loss, tokens * sizeof(real));
        ck_assert_mem_eq(answer, m.b->output.answer, tokens * sizeof(int32_t));
        free(wanted);
        free(found);
        free(loss);
        free(answer);
        engine_free(engine);
        unmake(&m);
    }
}
END_TEST

/* Scratch is laid out for the threads that there were: more of them is a fault that is seen. */
START_TEST(more_threads_than_there_is_scratch_for) {
    const Case c = {"threads", {.bias = true}, 2, 20, PLAIN, false, 1};
    omp_set_num_threads(1);
    Made m = make(&c, encoding_find("rope"), NULL);
    Engine *engine = engine_create(m.model);
    omp_set_num_threads(2);
    if (!freopen("/dev/null", "w", stderr)) ck_abort(); /* what it says of a fault */
    engine_forward(engine, &m.b->batch, &m.b->output);
}
END_TEST

START_TEST(dropout_in_training_alone) {
    Case c = {"dropout", {.dropout = 0.4}, 3, 20, PLAIN, false, 1};
    gemm_start();
    Made with = make(&c, encoding_find("rope"), NULL);
    c.model.dropout = 0;
    Made without = make(&c, encoding_find("rope"), NULL);
    Made *const made[] = {&with, &without};
    real *gradients = ALLOCATE(with.model->count, real), forward[2][60], training[3][60];
    for (int i = 0; i < 2; i++) {
        Engine *engine = engine_create(made[i]->model);
        engine_forward(engine, &made[i]->b->batch, &made[i]->b->output);
        memcpy(forward[i], made[i]->b->output.loss, sizeof forward[i]);
        engine_free(engine);
    }
    ck_assert_mem_eq(forward[0], forward[1], sizeof forward[0]);
    Engine *engine = engine_create(with.model);
    for (int pass = 0; pass < 3; pass++) {
        with.b->batch.step = pass == 2 ? 8 : 7;
        engine_gradient(engine, &with.b->batch, 1, false, gradients, &with.b->output);
        memcpy(training[pass], with.b->output.loss, sizeof training[pass]);
    }
    ck_assert_mem_eq(training[0], training[1], sizeof training[0]);
    ck_assert(memcmp(training[0], training[2], sizeof training[0])); /* another step */
    ck_assert(memcmp(training[0], forward[0], sizeof training[0]));
    free(gradients);
    engine_free(engine);
    unmake(&with);
    unmake(&without);
}
END_TEST

/* ---- parameters -------------------------------------------------------------------------------
 */

static ModelShape shape_of(const Encoding *encoding, KindOptions *options, int vocabulary) {
    option_defaults(encoding->options, options);
    return (ModelShape){.layers = 2,
                        .width = 64,
                        .heads = 4,
                        .mlp = 256,
                        .vocabulary = vocabulary,
                        .causal = true,
                        .init_std = 0.05,
                        .encoding = encoding,
                        .encoding_options = options,
                        .positions = position_source_find("plain"),
                        .trained_length = 128};
}

static const Parameter *parameter(const Model *model, const char *name) {
    for (int i = 0; i < model->parameter_count; i++)
        if (!strcmp(model->parameters[i].name, name)) return &model->parameters[i];
    ck_abort_msg("there is no parameter %s", name);
}

/* Names, places and sizes: no overlap, nothing twice, everything that the total counts. */
START_TEST(parameters_are_laid_out) {
    for (size_t e = 0; e < tested_encodings(); e++) {
        KindOptions options;
        ModelShape shape = shape_of(tested_encoding(e), &options, 11);
        shape.bias = e % 2;
        shape.tied = e % 3 == 0;
        Model *model = model_create(&shape, 1), *described = model_describe(&shape);
        ck_assert(!described->values && described->count == model->count);
        size_t end = 0, total = 0;
        for (int i = 0; i < model->parameter_count; i++) {
            const Parameter *p = &model->parameters[i];
            size_t count = 1;
            for (int axis = 0; axis < p->rank; axis++) count *= p->dims[axis];
            ck_assert_uint_eq(p->count, count);
            ck_assert_msg(p->offset % 16 == 0 && p->offset >= end, "%s overlaps", p->name);
            end = p->offset + p->count;
            total += p->count;
            ck_assert(parameter(model, p->name) == p); /* so names are unique */
            ck_assert_msg(!p->decay || (p->rank == 2 && p->encoding_index < 0), "%s decays",
                          p->name);
            ck_assert_msg(p->decay || p->rank == 1 || p->encoding_index >= 0, "%s does not decay",
                          p->name);
        }
        ck_assert(end <= model->count);
        ck_assert_uint_eq(model_parameter_total(model), total);
        model_free(model);
        model_free(described);
    }
    /* By hand: embedding and output 2·V·w, a layer 4w² + 2·w·m + 2w of norms, the last norm. */
    KindOptions options;
    ModelShape shape = shape_of(encoding_find("rope"), &options, 11);
    Model *model = model_describe(&shape);
    ck_assert_uint_eq(model_parameter_total(model),
                      2 * 11 * 64 + 2 * (4 * 64 * 64 + 2 * 64 * 256 + 2 * 64) + 64);
    /* 6 a matrix parameter and token, 6 x layers x T x width a token for causal attention. */
    const double matrices = 2 * (4 * 64 * 64 + 2 * 64 * 256) + 64 * 11;
    ck_assert_double_eq_tol(model_step_flops(&shape, 3, 100),
                            300 * (6 * matrices + 6 * 2 * 100 * 64), 1);
    shape.causal = false;
    ck_assert_double_eq_tol(model_step_flops(&shape, 3, 100),
                            300 * (6 * matrices + 12 * 2 * 100 * 64), 1);
    model_free(model);
}
END_TEST

static void check_normal(const Model *model, const char *name, double deviation) {
    const Parameter *p = parameter(model, name);
    double sum = 0, square = 0;
    for (size_t i = 0; i < p->count; i++) {
        const double x = (double)model->values[p->offset + i];
        sum += x, square += x * x;
    }
    const double n = (double)p->count; /* four deviations of a mean and of a variance */
    ck_assert_msg(fabs(sum / n) < 4 * deviation / sqrt(n), "%s: mean %g", name, sum / n);
    ck_assert_msg(fabs(square / n / (deviation * deviation) - 1) < 4 * sqrt(2 / n),
                  "%s: deviation %g", name, sqrt(square / n));
}

/* Initial values are keyed by the parameter's name: models that share one start alike. */
START_TEST(initial_values) {
    KindOptions options, other_options;
    ModelShape shape = shape_of(encoding_find("rope"), &options, 50);
    shape.bias = true;
    ModelShape other_shape = shape_of(encoding_find("learned"), &other_options, 50);
    other_shape.layers = 3;
    other_shape.bias = true;
    Model *model = model_create(&shape, 7), *other = model_create(&other_shape, 7);
    Model *again = model_create(&shape, 7), *seeded = model_create(&shape, 8);
    ck_assert_mem_eq(again->values, model->values, model->count * sizeof(real));
    for (int i = 0; i < model->parameter_count; i++) {
        const Parameter *p = &model->parameters[i];
        const size_t size = p->count * sizeof(real);
        ck_assert_mem_eq(other->values + parameter(other, p->name)->offset,
                         model->values + p->offset, size);
        if (p->rank == 2)
            ck_assert(memcmp(seeded->values + p->offset, model->values + p->offset, size));
    }
    check_normal(model, "embedding", 0.05);
    check_normal(model, "layer0/attention/qkv/weight", 0.05);
    check_normal(model, "layer1/mlp/down/weight", 0.05);
    check_normal(model, "output/weight", 0.02);
    check_normal(other, "encoding/learned/table", 0.02);
    const Parameter *a = parameter(model, "layer0/mlp/up/weight");
    const Parameter *b = parameter(model, "layer1/mlp/up/weight");
    ck_assert(memcmp(model->values + a->offset, model->values + b->offset, 64 * sizeof(real)));
    const struct {
        const char *name;
        real value;
    } constants[] = {{"layer0/attention/norm/gain", 1},
                     {"layer1/mlp/norm/bias", 0},
                     {"layer0/attention/qkv/bias", 0},
                     {"final/norm/gain", 1},
                     {"layer1/mlp/up/bias", 0}};
    for (size_t i = 0; i < COUNT(constants); i++) {
        const Parameter *p = parameter(model, constants[i].name);
        for (size_t k = 0; k < p->count; k++)
            ck_assert(model->values[p->offset + k] == constants[i].value);
    }
    ModelShape unit_shape = shape;
    unit_shape.init = INIT_UNIT; /* 64 channels, MLP of 256, two layers */
    Model *unit = model_create(&unit_shape, 7);
    check_normal(unit, "embedding", 1);
    check_normal(unit, "layer0/attention/qkv/weight", 1.0 / 8);
    check_normal(unit, "layer0/attention/out/weight", 1.0 / 16);
    check_normal(unit, "layer1/mlp/up/weight", 1.0 / 8);
    check_normal(unit, "layer1/mlp/down/weight", 1.0 / 32);
    check_normal(unit, "output/weight", 0.02);
    Model *const all[] = {model, other, again, seeded, unit};
    for (size_t i = 0; i < COUNT(all); i++) model_free(all[i]);
}
END_TEST

/* ---- training ----------------------------------------------------------------------------------
 */

/* B41: before the first step nothing is known, so the loss is ln V. */
START_TEST(first_loss_is_ln_v) {
    static const int vocabularies[] = {10, 64, 8192};
    gemm_start();
    for (size_t e = 0; e < encoding_count; e++)
        for (size_t v = 0; v < COUNT(vocabularies); v++)
            for (int tied = 0; tied <= 1; tied++) {
                if (vocabularies[v] > 1000 && e) continue; /* the head does not know the encoding */
                KindOptions options;
                ModelShape shape = shape_of(encodings[e], &options, vocabularies[v]);
                shape.tied = tied;
                Model *model = model_create(&shape, 1);
                SmallBatch *b = small_batch_create(model, 4, 64, 1);
                Engine *engine = engine_create(model);
                const double loss = small_batch_loss(engine, b, 1 / (double)b->scored_count);
                const double wanted = log(vocabularies[v]);
                ck_assert_msg(fabs(loss / wanted - 1) < 0.05, "%s, V = %d: loss %g, ln V %g",
                              encodings[e]->name, vocabularies[v], loss, wanted);
                engine_free(engine);
                small_batch_free(b);
                model_free(model);
            }
}
END_TEST

/* Steps of AdamW on one batch; the loss before each step, the last one returned. */
static double train(Made *m, int steps, double rate) {
    const size_t count = m->model->count;
    real *gradients = ALLOCATE(count, real), *m1 = ALLOCATE(count, real);
    real *m2 = ALLOCATE(count, real);
    const OptimGroup group = {0, count, false};
    const OptimSettings settings = {.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8};
    const double weight = 1 / (double)m->b->scored_count;
    Engine *engine = engine_create(m->model);
    for (int step = 1; step <= steps; step++) {
        engine_gradient(engine, &m->b->batch, weight, false, gradients, &m->b->output);
        const double scale = optim_clip_scale(optim_norm(count, gradients), 1);
        optim_step(1, &group, &settings, step, rate, scale, m->model->values, gradients, m1, m2);
    }
    const double loss = small_batch_loss(engine, m->b, weight);
    free(gradients);
    free(m1);
    free(m2);
    engine_free(engine);
    return loss;
}

/* A model learns one batch of random tokens by heart; with a rate of 0 nothing moves. The rate is
   one at which the loss falls steadily: at three times as much roundings decide what is learned. */
START_TEST(learns_a_batch_by_heart) {
    const Encoding *encoding = tested_encoding((size_t)_i);
    const Case c = {
        "by heart", {.head_width = 8, .heads = 2, .mlp = 64, .bias = true, .init_std = 0.1},
        4,          12,
        PLAIN,      false,
        1};
    gemm_start();
    omp_set_num_threads(1);
    Made m = make(&c, encoding, NULL);
    const double first = train(&m, 0, 0), still = train(&m, 3, 0), last = train(&m, 300, 0.003);
    ck_assert_msg(first > 1, "%s: the loss starts at %g", m.name, first);
    ck_assert_msg(still == first, "%s: rate 0 moved the loss from %g to %g", m.name, first, still);
    ck_assert_msg(last < 0.01, "%s: loss %g after 300 steps", m.name, last);
    unmake(&m);
}
END_TEST

/* ---- memory ------------------------------------------------------------------------------------
 */

/* What is reserved is enough, is what engine_bytes_needed said, and grows with the length alone. */
START_TEST(memory) {
    gemm_start();
    omp_set_num_threads(2);
    for (size_t e = 0; e < tested_encodings(); e++)
        for (int drawn = 0; drawn <= 1; drawn++) {
            const Case c = {"memory", {.heads = 2}, 2, 80, drawn ? DRAWN : PLAIN, false, 1};
            Made m = make(&c, tested_encoding(e), NULL);
            small_option(position_source_find("randomized")->options, &m.owner->position_options,
                         "N", 100);
            for (int training = 0; training <= 1; training++) {
                Engine *engine = engine_create(m.model);
                real *gradients = ALLOCATE(m.model->count, real);
                engine_reserve(engine, 2, 80, training);
                size_t bytes = 0;
                for (uint64_t pass = 0; pass < 4; pass++) {
                    m.b->batch.step = pass;
                    if (training)
                        engine_gradient(engine, &m.b->batch, 1, false, gradients, &m.b->output);
                    else
                        engine_forward(engine, &m.b->batch, &m.b->output);
                    if (!pass) bytes = engine_bytes(engine);
                    ck_assert_msg(engine_bytes(engine) == bytes, "%s: pass %d allocates", m.name,
                                  (int)pass);
                }
                ck_assert_double_eq((double)bytes,
                                    engine_bytes_needed(m.model, 2, 80, training, 2));
                free(gradients);
                engine_free(engine);
                if (drawn) continue;
                const double one = engine_bytes_needed(m.model, 1, 8192, training, 2);
                const double two = engine_bytes_needed(m.model, 1, 16384, training, 2);
                const double many = engine_bytes_needed(m.model, 64, 256, training, 2);
                const double more = engine_bytes_needed(m.model, 64, 512, training, 2);
                ck_assert_msg(two < 2.01 * one && two > 1.5 * one, "%s: %g bytes, then %g", m.name,
                              one, two);
                ck_assert_msg(more < 2.01 * many, "%s: %g bytes, then %g", m.name, many, more);
            }
            unmake(&m);
        }
}
END_TEST

Suite *suite_model(void);
Suite *suite_model(void) {
    Suite *suite = suite_create("model");
    const int all = (int)tested_encodings();
    TCase *tests = tcase_create("model");
#ifdef REAL_DOUBLE
    tcase_add_loop_test(tests, gradients_of_parameters, 0, all);
    tcase_add_loop_test(tests, gradients_of_options, 0, all);
#endif
    tcase_add_loop_test(tests, like_the_plain_model, 0, (int)COUNT(plain_encodings));
    tcase_add_loop_test(tests, loss_follows_the_gradient, 0, all);
    tcase_add_test(tests, shared_parameters_are_prepared_once);
    tcase_add_loop_test(tests, same_bits_for_any_threads, 0, all);
    tcase_add_loop_test(tests, same_bits_whatever_was_before, 0, all);
    tcase_add_loop_test(tests, parts_of_a_batch, 0, all);
    tcase_add_test(tests, nothing_scored);
    tcase_add_test(tests, outputs_are_optional);
    tcase_add_exit_test(tests, more_threads_than_there_is_scratch_for, EXIT_INTERNAL);
    tcase_add_test(tests, dropout_in_training_alone);
    tcase_add_test(tests, parameters_are_laid_out);
    tcase_add_test(tests, initial_values);
    tcase_add_test(tests, first_loss_is_ln_v);
    tcase_add_loop_test(tests, learns_a_batch_by_heart, 0, all);
    tcase_add_test(tests, memory);
    suite_add_tcase(suite, tests);
    return suite;
}
