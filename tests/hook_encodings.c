#include "tests/hook_encodings.h"

#include <math.h>
#include <string.h>

static const Option none[] = {{0}};

/* ---- bias by distance ---------------------------------------------------------------------- */

enum { AMPLITUDE, RATE };

static int cosine_parameters(const EncodingShape *shape, EncodingParameter list[]) {
    list[AMPLITUDE] = (EncodingParameter){.name = "amplitude",
                                          .rank = 1,
                                          .dims = {(size_t)shape->heads},
                                          .shared = true,
                                          .mean = 0.8};
    list[RATE] = (EncodingParameter){
        .name = "rate", .rank = 1, .dims = {(size_t)shape->heads}, .mean = 0.3, .deviation = 0.1};
    return 2;
}

static void cosine_bias(const Site *site, size_t n, const double *distance, real *out) {
    const double amplitude = (double)site->parameters[AMPLITUDE][site->head];
    const double rate = (double)site->parameters[RATE][site->head];
    for (size_t i = 0; i < n; i++) out[i] = (real)(amplitude * cos(rate * distance[i]));
}

static void cosine_bias_backward(const Site *site, size_t n, const double *distance,
                                 const double *dout, real *const *gradients) {
    const double amplitude = (double)site->parameters[AMPLITUDE][site->head];
    const double rate = (double)site->parameters[RATE][site->head];
    double damplitude = 0, drate = 0;
    for (size_t i = 0; i < n; i++) {
        damplitude += dout[i] * cos(rate * distance[i]);
        drate -= dout[i] * amplitude * distance[i] * sin(rate * distance[i]);
    }
    gradients[AMPLITUDE][site->head] += (real)damplitude;
    gradients[RATE][site->head] += (real)drate;
}

const Encoding encoding_cosine = {.name = "cosine",
                                  .options = none,
                                  .parameters = cosine_parameters,
                                  .bias = cosine_bias,
                                  .bias_backward = cosine_bias_backward};

/* ---- window -------------------------------------------------------------------------------- */

const size_t hook_windows[3] = {20, 1, 300};

static size_t window(const EncodingShape *shape, int head) {
    (void)shape;
    return hook_windows[head % 3];
}

const Encoding encoding_window = {.name = "window", .options = none, .window = window};

/* ---- rows: rotate, open, score, value ------------------------------------------------------- */

enum { KEYS, VALUES, TURN };

size_t hook_row(double distance) {
    return (size_t)(fmin(fmax(round(distance), -HOOK_REACH), HOOK_REACH) + HOOK_REACH);
}

static int rows_width(const EncodingShape *shape) {
    return shape->head_width + 1;
}
static double rows_scale(const EncodingShape *shape) {
    (void)shape;
    return HOOK_SCALE;
}
static int rows_scratch(const EncodingShape *shape) {
    (void)shape;
    return HOOK_ROWS;
}

static int rows_parameters(const EncodingShape *shape, EncodingParameter list[]) {
    list[KEYS] = (EncodingParameter){
        .name = "keys", .rank = 2, .dims = {HOOK_ROWS, (size_t)shape->qk_width}, .deviation = 0.3};
    list[VALUES] = (EncodingParameter){.name = "values",
                                       .rank = 2,
                                       .dims = {HOOK_ROWS, (size_t)shape->head_width},
                                       .shared = true,
                                       .deviation = 0.5};
    list[TURN] = (EncodingParameter){
        .name = "turn", .rank = 1, .dims = {(size_t)shape->heads}, .mean = 0.7, .deviation = 0.2};
    return 3;
}

/* keys, values, and (in a slot) turn of the head */
static size_t keys_size(const EncodingShape *shape) {
    return HOOK_ROWS * (size_t)shape->qk_width;
}
static size_t values_size(const EncodingShape *shape) {
    return HOOK_ROWS * (size_t)shape->head_width;
}
static size_t rows_size(const EncodingShape *shape, size_t length) {
    (void)length;
    return keys_size(shape) + values_size(shape) + 1;
}

static void rows_prepare(const Site *site, real *prepared) {
    const size_t keys = keys_size(site->shape), values = values_size(site->shape);
    for (size_t i = 0; i < keys; i++) prepared[i] = 2 * site->parameters[KEYS][i];
    for (size_t i = 0; i < values; i++) prepared[keys + i] = site->parameters[VALUES][i] / 2;
    prepared[keys + values] = site->parameters[TURN][site->head];
}

static void rows_prepare_backward(const Site *site, const real *slot, real *const *gradients) {
    const size_t keys = keys_size(site->shape), values = values_size(site->shape);
    for (size_t i = 0; i < keys; i++) gradients[KEYS][i] += 2 * slot[i];
    for (size_t i = 0; i < values; i++) gradients[VALUES][i] += slot[keys + i] / 2;
    gradients[TURN][site->head] += slot[keys + values];
}

static void rows_rotate(const Site *site, RotateSide side, size_t first, size_t rows, const real *x,
                        size_t stride, real *out) {
    const size_t d = (size_t)site->shape->head_width;
    const real turn = site->prepared[keys_size(site->shape) + values_size(site->shape)];
    for (size_t r = 0; r < rows; r++, x += stride, out += d + 1) {
        const double angle = site->positions[first + r] / 3;
        memcpy(out, x, d * sizeof(real));
        out[d] = side == ROTATE_QUERY ? turn * (real)sin(angle) : x[0] * (real)cos(angle);
    }
}

static void rows_rotate_backward(const Site *site, RotateSide side, size_t first, size_t rows,
                                 const real *x, size_t stride, const real *dout, real *dx,
                                 real *slot) {
    (void)x;
    const size_t d = (size_t)site->shape->head_width;
    real *dturn = slot + keys_size(site->shape) + values_size(site->shape);
    for (size_t r = 0; r < rows; r++, dx += stride, dout += d + 1) {
        const double angle = site->positions[first + r] / 3;
        memcpy(dx, dout, d * sizeof(real));
        if (side == ROTATE_QUERY)
            *dturn += dout[d] * (real)sin(angle);
        else
            dx[0] += dout[d] * (real)cos(angle);
    }
}

static void rows_open(const Site *site, QueryBlock *block) {
    const size_t w = (size_t)site->shape->qk_width;
    for (size_t r = 0; r < (size_t)block->rows; r++)
        for (size_t n = 0; n < HOOK_ROWS; n++) {
            real sum = 0;
            for (size_t c = 0; c < w; c++) sum += block->q[r * w + c] * site->prepared[n * w + c];
            block->scratch[r * HOOK_ROWS + n] = sum;
        }
}

static void rows_open_backward(const Site *site, QueryBlock *block, real *slot) {
    const size_t w = (size_t)site->shape->qk_width;
    for (size_t r = 0; r < (size_t)block->rows; r++)
        for (size_t n = 0; n < HOOK_ROWS; n++) {
            const real d = block->dscratch[r * HOOK_ROWS + n];
            for (size_t c = 0; c < w; c++) {
                block->dq[r * w + c] += d * site->prepared[n * w + c];
                slot[n * w + c] += d * block->q[r * w + c];
            }
        }
}

static size_t row_of(const Site *site, const QueryBlock *block, const KeyTile *tile, size_t r,
                     size_t c) {
    return hook_row(site->positions[block->first + r] - site->positions[tile->first + c]);
}

static void rows_score(const Site *site, QueryBlock *block, KeyTile *tile, real *s) {
    for (size_t r = 0; r < (size_t)block->rows; r++)
        for (size_t c = 0; c < (size_t)tile->keys; c++)
            s[r * (size_t)tile->stride + c] +=
                block->scratch[r * HOOK_ROWS + row_of(site, block, tile, r, c)];
}

static void rows_score_backward(const Site *site, QueryBlock *block, KeyTile *tile, real *ds,
                                real *slot) {
    (void)slot;
    for (size_t r = 0; r < (size_t)block->rows; r++)
        for (size_t c = 0; c < (size_t)tile->keys; c++)
            block->dscratch[r * HOOK_ROWS + row_of(site, block, tile, r, c)] +=
                ds[r * (size_t)tile->stride + c];
}

static void rows_value(const Site *site, QueryBlock *block, KeyTile *tile, const real *p, real *o) {
    const size_t d = (size_t)site->shape->head_width;
    const real *values = site->prepared + keys_size(site->shape);
    for (size_t r = 0; r < (size_t)block->rows; r++)
        for (size_t k = 0; k < (size_t)tile->keys; k++) {
            const real *value = values + row_of(site, block, tile, r, k) * d;
            for (size_t c = 0; c < d; c++)
                o[r * d + c] += p[r * (size_t)tile->stride + k] * value[c];
        }
}

static void rows_value_backward(const Site *site, QueryBlock *block, KeyTile *tile, const real *p,
                                const real *dout, real *dp, real *slot) {
    const size_t d = (size_t)site->shape->head_width, keys = keys_size(site->shape);
    for (size_t r = 0; r < (size_t)block->rows; r++)
        for (size_t k = 0; k < (size_t)tile->keys; k++) {
            const size_t at = r * (size_t)tile->stride + k;
            const size_t row = keys + row_of(site, block, tile, r, k) * d;
            for (size_t c = 0; c < d; c++) {
                dp[at] += dout[r * d + c] * site->prepared[row + c];
                slot[row + c] += p[at] * dout[r * d + c];
            }
        }
}

const Encoding encoding_rows = {.name = "rows",
                                .options = none,
                                .parameters = rows_parameters,
                                .qk_width = rows_width,
                                .scale = rows_scale,
                                .prepared_size = rows_size,
                                .slot_size = rows_size,
                                .row_scratch = rows_scratch,
                                .prepare = rows_prepare,
                                .prepare_backward = rows_prepare_backward,
                                .rotate = rows_rotate,
                                .rotate_backward = rows_rotate_backward,
                                .open = rows_open,
                                .open_backward = rows_open_backward,
                                .score = rows_score,
                                .score_backward = rows_score_backward,
                                .value = rows_value,
                                .value_backward = rows_value_backward};

/* ---- carry --------------------------------------------------------------------------------- */

/* Its gradient passes through, so it has no backward; but the backward pass runs it again. */
static void count_behind(const Site *site, QueryBlock *block, KeyTile *tile, real *s) {
    (void)site;
    for (size_t r = 0; r < (size_t)block->rows; r++) {
        real *row = s + r * (size_t)tile->stride;
        double *carry = &block->carry[r], seen = 0;
        for (size_t c = 0; c < (size_t)tile->keys; c++) seen += !isinf(row[c]);
        if (tile->again) *carry -= seen;
        double behind = *carry;
        for (size_t c = (size_t)tile->keys; c-- > 0;)
            if (!isinf(row[c])) row[c] += (real)(HOOK_STEP * behind++);
        if (!tile->again) *carry = behind;
    }
}

const Encoding encoding_count_behind = {.name = "count_behind",
                                        .options = none,
                                        .needs_causal = "counts the keys behind",
                                        .carries = 1,
                                        .score = count_behind};

/* ---- linear attention ----------------------------------------------------------------------- */

static const struct {
    const char *name, *encoding;
    LinearOptions options;
} linear_models[] = {{"linear rope elu after", "rope", {FEATURE_ELU, ROTATE_AFTER}},
                     {"linear rope exp before", "rope", {FEATURE_EXP, ROTATE_BEFORE}},
                     {"linear learned exp", "learned", {FEATURE_EXP, ROTATE_AFTER}},
                     {"linear rope elu before", "rope", {FEATURE_ELU, ROTATE_BEFORE}},
                     {"linear rope exp after", "rope", {FEATURE_EXP, ROTATE_AFTER}},
                     {"linear learned elu", "learned", {FEATURE_ELU, ROTATE_AFTER}},
                     {"linear sinusoidal elu", "sinusoidal", {FEATURE_ELU, ROTATE_AFTER}},
                     {"linear sinusoidal exp", "sinusoidal", {FEATURE_EXP, ROTATE_AFTER}},
                     {"linear nope elu", "nope", {FEATURE_ELU, ROTATE_AFTER}},
                     {"linear nope exp", "nope", {FEATURE_EXP, ROTATE_AFTER}},
                     {"linear xpos elu", "xpos", {FEATURE_ELU, ROTATE_AFTER}}};

enum {
    LINEAR = sizeof linear_models / sizeof *linear_models,
    LINEAR_TESTED = 3 /* by the tests of every encoding: both maps, both orders, a table */
};

static Encoding linear_copies[LINEAR];

size_t linear_encodings(void) { return LINEAR; }

const Encoding *linear_encoding(size_t index) {
    Encoding *copy = &linear_copies[index];
    if (!copy->name) {
        *copy = *encoding_find(linear_models[index].encoding);
        copy->name = linear_models[index].name;
    }
    return copy;
}

const LinearOptions *tested_linear(const Encoding *encoding) {
    for (size_t i = 0; i < LINEAR; i++)
        if (encoding == &linear_copies[i]) return &linear_models[i].options;
    return NULL;
}

/* ---- all ----------------------------------------------------------------------------------- */

static const Encoding *const hooks[] = {&encoding_cosine, &encoding_window, &encoding_rows,
                                        &encoding_count_behind, &encoding_distance_table};

enum { HOOKS = sizeof hooks / sizeof *hooks };

size_t tested_encodings(void) {
    return encoding_count + HOOKS + LINEAR_TESTED;
}

const Encoding *tested_encoding(size_t index) {
    return index < encoding_count           ? encodings[index]
           : index < encoding_count + HOOKS ? hooks[index - encoding_count]
                                            : linear_encoding(index - encoding_count - HOOKS);
}

const Encoding *tested_find(const char *name) {
    for (size_t i = 0; i < LINEAR; i++)
        if (!strcmp(linear_models[i].name, name)) return linear_encoding(i);
    for (size_t i = 0; i < tested_encodings(); i++)
        if (!strcmp(tested_encoding(i)->name, name)) return tested_encoding(i);
    return NULL;
}
