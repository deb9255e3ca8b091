/* The list of parameters: names, shapes, places in the flat array, initial values. */
#include "src/model/model.h"

#include "src/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS_A_LAYER = 12 + ENCODING_PARAMETERS };

static const double OUTPUT_STD = 0.02; /* small logits: the first loss is ln V */

typedef struct {
    const char *name, *row_axis, *column_axis;
    size_t rows, columns; /* columns 0: a vector of rows */
    double mean, deviation;
    int layer;
} Entry;

static size_t add(Model *model, const Entry *entry) {
    Parameter *p = &model->parameters[model->parameter_count++];
    *p = (Parameter){.rank = entry->columns ? 2 : 1,
                     .dims = {entry->rows, entry->columns},
                     .axes = {entry->row_axis, entry->column_axis},
                     .offset = model->count,
                     .count = entry->rows * (entry->columns ? entry->columns : 1),
                     .decay = entry->columns > 0,
                     .mean = entry->mean,
                     .deviation = entry->deviation,
                     .layer = entry->layer,
                     .encoding_index = -1};
    if (entry->layer < 0)
        snprintf(p->name, sizeof p->name, "%s", entry->name);
    else
        snprintf(p->name, sizeof p->name, "layer%d/%s", entry->layer, entry->name);
    model->count += round_up(p->count, 16);
    return p->offset;
}

static size_t matrix(Model *model, int layer, const char *name, size_t in, size_t out) {
    const ModelShape *shape = &model->shape;
    const double deviation = shape->init == INIT_UNIT ? 1 / sqrt((double)in) : shape->init_std;
    return add(model, &(Entry){name, "in", "out", in, out, 0, deviation, layer});
}

/* One whose product is added to the residual stream, as two of them are in each layer. */
static size_t residual_matrix(Model *model, int layer, const char *name, size_t in, size_t out) {
    const size_t offset = matrix(model, layer, name, in, out);
    if (model->shape.init == INIT_UNIT)
        model->parameters[model->parameter_count - 1].deviation /= sqrt(2.0 * model->shape.layers);
    return offset;
}

static size_t vector(Model *model, int layer, const char *name, size_t width, double value) {
    return add(model, &(Entry){name, "channel", NULL, width, 0, value, 0, layer});
}

static size_t bias(Model *model, int layer, const char *name, size_t width) {
    return model->shape.bias ? vector(model, layer, name, width, 0) : NONE;
}

/* The encoding's parameters: shared ones once, the others in every layer. */
static void add_encoding(Model *model) {
    const Encoding *encoding = model->shape.encoding;
    if (!encoding->parameters) return;
    EncodingParameter list[ENCODING_PARAMETERS];
    memset(list, 0, sizeof list);
    int count = encoding->parameters(&model->encoding_shape, list);
    CHECK(count <= ENCODING_PARAMETERS, "%s has %d parameters", encoding->name, count);
    for (int k = 0; k < count; k++)
        for (int layer = 0; layer < model->shape.layers; layer++) {
            const EncodingParameter *e = &list[k];
            if (e->shared && layer) {
                model->layers[layer].encoding[k] = model->layers[0].encoding[k];
                continue;
            }
            Parameter *p = &model->parameters[model->parameter_count++];
            *p = (Parameter){.rank = e->rank,
                             .offset = model->count,
                             .count = 1,
                             .mean = e->mean,
                             .deviation = e->deviation,
                             .layer = e->shared ? -1 : layer,
                             .encoding_index = k,
                             .counts_rows = e->counts_rows};
            for (int axis = 0; axis < e->rank; axis++) {
                p->dims[axis] = e->dims[axis];
                p->axes[axis] = "";
                p->count *= e->dims[axis];
            }
            if (e->shared)
                snprintf(p->name, sizeof p->name, "encoding/%s/%s", encoding->name, e->name);
            else
                snprintf(p->name, sizeof p->name, "layer%d/encoding/%s/%s", layer, encoding->name,
                         e->name);
            model->layers[layer].encoding[k] = p->offset;
            model->count += round_up(p->count, 16);
        }
}

static void draw(Model *model, int64_t seed) {
    for (int i = 0; i < model->parameter_count; i++) {
        const Parameter *p = &model->parameters[i];
        real *values = model->values + p->offset;
        /* 40 bits of the hash name the stream. */
        Rng rng = rng_stream(seed, RNG_INIT, rng_hash(p->name) & 0xFFFFFFFFFF, 0);
        for (size_t j = 0; j < p->count; j++)
            values[j] = (real)(p->deviation > 0 ? p->mean + p->deviation * rng_normal(&rng)
                                                : p->mean);
    }
}

static EncodingShape encoding_shape(const ModelShape *shape) {
    EncodingShape e = {.layers = shape->layers,
                       .heads = shape->heads,
                       .width = shape->width,
                       .head_width = shape->width / shape->heads,
                       .qk_width = shape->width / shape->heads,
                       .causal = shape->causal,
                       .trained_length = shape->trained_length,
                       .options = shape->encoding_options};
    if (shape->encoding->qk_width) e.qk_width = shape->encoding->qk_width(&e);
    return e;
}

const char *model_refuse(const ModelShape *shape) {
    static char reason[160];
    const Encoding *encoding = shape->encoding;
    const EncodingShape e = encoding_shape(shape);
    if (encoding->needs_causal && !shape->causal) {
        snprintf(reason, sizeof reason, "it needs a causal model: it %s", encoding->needs_causal);
        return reason;
    }
    const char *unfit = shape->linear ? linear_refuse(encoding) : NULL;
    if (unfit) return unfit;
    if (encoding->needs_even_head_width && e.head_width % 2) {
        snprintf(reason, sizeof reason,
                 "it needs an even head width, and width / heads = %d / %d is %d", shape->width,
                 shape->heads, e.head_width);
        return reason;
    }
    if (encoding->needs_whole_positions && shape->positions->fractional) {
        snprintf(reason, sizeof reason, "it needs whole positions, and %s are not",
                 shape->positions->name);
        return reason;
    }
    return encoding->refuse ? encoding->refuse(&e) : NULL;
}

const char *model_defined(const Model *model, size_t length) {
    const ModelShape *shape = &model->shape;
    const char *reason = NULL;
    if (shape->positions->refuse)
        reason = shape->positions->refuse(shape->position_options, length);
    if (!reason && shape->encoding->defined)
        reason = shape->encoding->defined(&model->encoding_shape, length,
                                          shape->positions->largest(shape->position_options,
                                                                    length));
    return reason;
}

Model *model_describe(const ModelShape *shape) {
    CHECK(shape->layers >= 1 && shape->layers <= MODEL_LAYERS, "%d layers", shape->layers);
    CHECK(shape->heads >= 1 && shape->width % shape->heads == 0, "width %d, heads %d",
          shape->width, shape->heads);
    Model *model = ALLOCATE(1, Model);
    model->shape = *shape;
    model->encoding_shape = encoding_shape(shape);
    model->parameters = ALLOCATE((size_t)shape->layers * PARAMETERS_A_LAYER + 4, Parameter);
    const size_t width = (size_t)shape->width, vocabulary = (size_t)shape->vocabulary;
    const size_t mlp = (size_t)shape->mlp;

    model->embedding =
        add(model, &(Entry){"embedding", "token", "channel", vocabulary, width, 0,
                            shape->tied                ? OUTPUT_STD
                            : shape->init == INIT_UNIT ? 1
                                                       : shape->init_std,
                            -1});
    for (int l = 0; l < shape->layers; l++) {
        LayerOffsets *o = &model->layers[l];
        o->norm1_gain = vector(model, l, "attention/norm/gain", width, 1);
        o->norm1_bias = bias(model, l, "attention/norm/bias", width);
        o->qkv = matrix(model, l, "attention/qkv/weight", width, 3 * width);
        o->qkv_bias = bias(model, l, "attention/qkv/bias", 3 * width);
        o->out = residual_matrix(model, l, "attention/out/weight", width, width);
        o->out_bias = bias(model, l, "attention/out/bias", width);
        o->norm2_gain = o->norm2_bias = o->up = o->up_bias = o->down = o->down_bias = NONE;
        if (!mlp) continue;
        o->norm2_gain = vector(model, l, "mlp/norm/gain", width, 1);
        o->norm2_bias = bias(model, l, "mlp/norm/bias", width);
        o->up = matrix(model, l, "mlp/up/weight", width, mlp);
        o->up_bias = bias(model, l, "mlp/up/bias", mlp);
        o->down = residual_matrix(model, l, "mlp/down/weight", mlp, width);
        o->down_bias = bias(model, l, "mlp/down/bias", width);
    }
    model->final_gain = vector(model, -1, "final/norm/gain", width, 1);
    model->final_bias = bias(model, -1, "final/norm/bias", width);
    model->output = NONE;
    if (!shape->tied)
        model->output = add(model, &(Entry){"output/weight", "in", "token", width, vocabulary, 0,
                                            OUTPUT_STD, -1});
    add_encoding(model);
    return model;
}

Model *model_create(const ModelShape *shape, int64_t init_seed) {
    Model *model = model_describe(shape);
    model->values = ALLOCATE(model->count, real);
    draw(model, init_seed);
    return model;
}

void model_free(Model *model) {
    if (!model) return;
    free(model->parameters);
    free(model->values);
    free(model);
}

void model_tables(const Model *model, size_t length, PositionTableSink sink, void *to) {
    if (!model->shape.encoding->tables) return;
    const real *parameters[MODEL_LAYERS][ENCODING_PARAMETERS];
    const real *const *layers[MODEL_LAYERS];
    for (int layer = 0; layer < model->shape.layers; layer++) {
        for (int k = 0; k < ENCODING_PARAMETERS; k++)
            parameters[layer][k] = model->values + model->layers[layer].encoding[k];
        layers[layer] = parameters[layer];
    }
    model->shape.encoding->tables(&model->encoding_shape, layers, length, sink, to);
}

size_t model_parameter_total(const Model *model) {
    size_t total = 0;
    for (int i = 0; i < model->parameter_count; i++) total += model->parameters[i].count;
    return total;
}

double model_step_flops(const ModelShape *shape, size_t items, size_t length) {
    const double width = shape->width, tokens = (double)items * (double)length;
    const double matrices = shape->layers * (4 * width * width + 2 * width * shape->mlp) +
                            width * shape->vocabulary;
    /* every pair of tokens, half of them when causal; or a state written and read by every token */
    const double pairs = (double)length * (shape->causal ? 1 : 2);
    const double attention =
        6.0 * shape->layers * width * (shape->linear ? 2 * width / shape->heads : pairs);
    return tokens * (6 * matrices + attention);
}
