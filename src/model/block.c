/* One layer on a block of rows: everything between two visits to attention. Serial; each forward
   stands above its backward. `slot` gathers the gradients of weights for these rows. */
#include "src/model/engine.h"

#include "src/gemm.h"
#include "src/ops/ops.h"

#include <string.h>

/* Places of dropout in a step: one for the embedding, two a layer. */
static uint64_t dropout_place(int layer, int which) {
    return 4 * (uint64_t)layer + (uint64_t)which;
}
enum { DROP_EMBEDDING = 0, DROP_ATTENTION = 1, DROP_MLP = 2 };

static const real *weight(const Place *at, size_t offset) {
    return offset == NONE ? NULL : at->engine->model->values + offset;
}
static const real *packed(const Place *at, size_t offset) {
    return at->engine->packed + offset;
}
static const real *transposed(const Place *at, size_t offset) {
    return at->engine->transposed + offset;
}
static real *gradient(real *slot, size_t offset) { return offset == NONE ? NULL : slot + offset; }

static bool drops(const Place *at) {
    return at->engine->training && at->engine->model->shape.dropout > 0;
}
static void drop(const Place *at, real *x, uint64_t place, size_t first, size_t rows) {
    const Batch *batch = &at->engine->batch;
    dropout(x, at->engine->model->shape.dropout, batch->seed, batch->step, place,
            (batch->first_item + at->item) * batch->length + first, rows,
            (size_t)at->engine->model->shape.width);
}

/* Norms have a phase of their own inside the blocks'. */
static void norm(const Place *at, Phase around, real *y, real *xhat, real *inverse, const real *x,
                 size_t gain, size_t bias, size_t rows) {
    const double start = seconds_now();
    norm_forward(y, xhat, inverse, x, weight(at, gain), weight(at, bias), rows,
                 (size_t)at->engine->model->shape.width);
    place_spent(at, PHASE_NORM, around, start);
}

static void norm_gradient(const Place *at, Phase around, real *dx, real *slot, const real *dy,
                          const real *xhat, const real *inverse, size_t gain, size_t bias,
                          size_t rows) {
    const double start = seconds_now();
    norm_backward(dx, gradient(slot, gain), gradient(slot, bias), dy, xhat, inverse,
                  weight(at, gain), rows, (size_t)at->engine->model->shape.width);
    place_spent(at, PHASE_NORM, around, start);
}

/* ---- embedding ---------------------------------------------------------------------------- */

void block_embed(const Place *at) {
    const Engine *engine = at->engine;
    const Model *model = engine->model;
    const size_t width = (size_t)model->shape.width, length = engine->batch.length;
    real *x = at->acts->x + at->local * engine->length_padded * width;
    embedding_forward(x, engine->batch.tokens + at->item * length,
                      model->values + model->embedding, engine_token_scale(engine), length, width);
    memset(x + length * width, 0, (engine->length_padded - length) * width * sizeof(real));
    if (model->shape.encoding->embed) {
        const Site site = engine_site(engine, 0, -1, at->item);
        model->shape.encoding->embed(&site, x);
    }
    if (drops(at)) drop(at, x, dropout_place(0, DROP_EMBEDDING), 0, length);
}

void block_embed_backward(const Place *at) {
    const Engine *engine = at->engine;
    const size_t width = (size_t)engine->model->shape.width;
    if (drops(at))
        drop(at, engine->dx + at->item * engine->length_padded * width,
             dropout_place(0, DROP_EMBEDDING), 0, engine->batch.length);
}

/* ---- norm, q, k, v ------------------------------------------------------------------------ */

void block_qkv_forward(const Place *at, int layer, size_t first, size_t rows) {
    const Engine *engine = at->engine;
    const Model *model = engine->model;
    const Encoding *encoding = model->shape.encoding;
    const LayerOffsets *o = &model->layers[layer];
    const size_t width = (size_t)model->shape.width, row = place_row(at, layer, first);
    const Activations *acts = at->acts;
    real *y = at->scratch->y, *qkv = acts->qkv + row * 3 * width;
    norm(at, PHASE_LINEAR, y, acts->xhat1 + row * width, acts->inverse1 + row,
         acts->x + (at->local * engine->length_padded + first) * width, o->norm1_gain,
         o->norm1_bias, rows);
    gemm_packed(rows, 3 * width, width, y, width, packed(at, o->qkv), 0, qkv, 3 * width);
    if (o->qkv_bias != NONE)
        bias_forward(qkv, weight(at, o->qkv_bias), rows, 3 * width, 3 * width);
    if (encoding->gate) {
        const Site site = engine_site(engine, layer, -1, at->item);
        const size_t gates = (size_t)(model->shape.heads * encoding->gates);
        encoding->gate(&site, rows, y, acts->gate + row * gates);
    }
}

void block_qkv_backward(const Place *at, int layer, size_t first, size_t rows, real *slot) {
    const Engine *engine = at->engine;
    const Model *model = engine->model;
    const Encoding *encoding = model->shape.encoding;
    const LayerOffsets *o = &model->layers[layer];
    const size_t width = (size_t)model->shape.width, row = place_row(at, layer, first);
    const size_t here = at->local * engine->length_padded + first;
    const Activations *acts = at->acts;
    real *y = at->scratch->y, *dy = at->scratch->dy;
    const real *dqkv = acts->dqkv + here * 3 * width;
    norm_again(y, acts->xhat1 + row * width, weight(at, o->norm1_gain), weight(at, o->norm1_bias),
               rows, width);
    gemm_packed(rows, width, 3 * width, dqkv, 3 * width, transposed(at, o->qkv), 0, dy, width);
    place_wait(at, 0, PHASE_LINEAR_BACKWARD);
    /* forward: qkv = y · W + bias */
    gemm_transposed(width, 3 * width, rows, y, width, dqkv, 3 * width, 1, slot + o->qkv, 3 * width);
    if (o->qkv_bias != NONE) bias_backward(slot + o->qkv_bias, dqkv, rows, 3 * width, 3 * width);
    if (encoding->gate_backward) {
        const Site site = engine_site(engine, layer, -1, at->item);
        const size_t gates = (size_t)(model->shape.heads * encoding->gates);
        real *gradients[ENCODING_PARAMETERS];
        for (int k = 0; k < ENCODING_PARAMETERS; k++) gradients[k] = slot + o->encoding[k];
        encoding->gate_backward(&site, rows, y, acts->dgate + here * gates, dy, gradients);
    }
    norm_gradient(at, PHASE_LINEAR_BACKWARD,
                  engine->dx + (at->item * engine->length_padded + first) * width, slot, dy,
                  acts->xhat1 + row * width, acts->inverse1 + row, o->norm1_gain, o->norm1_bias,
                  rows);
    link_pass(at->link, 0);
}

/* ---- output of attention, norm, MLP ------------------------------------------------------- */

/* x += dropout(in · W + bias) */
static void residual_forward(const Place *at, real *x, const real *in, size_t channels, size_t w,
                             size_t bias, uint64_t place, size_t first, size_t rows) {
    const size_t width = (size_t)at->engine->model->shape.width;
    if (!drops(at)) {
        gemm_packed(rows, width, channels, in, channels, packed(at, w), 1, x, width);
        if (bias != NONE) bias_forward(x, weight(at, bias), rows, width, width);
        return;
    }
    real *out = at->scratch->dy;
    gemm_packed(rows, width, channels, in, channels, packed(at, w), 0, out, width);
    if (bias != NONE) bias_forward(out, weight(at, bias), rows, width, width);
    drop(at, out, place, first, rows);
    for (size_t i = 0; i < rows * width; i++) x[i] += out[i];
}

/* The gradient of the branch's output: dx itself, or dx behind the same mask of dropout. */
static const real *branch_gradient(const Place *at, const real *dx, uint64_t place, size_t first,
                                   size_t rows) {
    if (!drops(at)) return dx;
    real *dropped = at->scratch->dout;
    memcpy(dropped, dx, rows * (size_t)at->engine->model->shape.width * sizeof(real));
    drop(at, dropped, place, first, rows);
    return dropped;
}

/* forward: out = in · W + bias. dW and dbias into the slot. */
static void weight_backward(const Place *at, real *slot, size_t w, size_t bias, const real *in,
                            size_t channels, const real *dout, size_t rows) {
    const size_t width = (size_t)at->engine->model->shape.width;
    gemm_transposed(channels, width, rows, in, channels, dout, width, 1, slot + w, width);
    if (bias != NONE) bias_backward(slot + bias, dout, rows, width, width);
}

void block_mlp_forward(const Place *at, int layer, size_t first, size_t rows) {
    const Model *model = at->engine->model;
    const LayerOffsets *o = &model->layers[layer];
    const size_t width = (size_t)model->shape.width, mlp = (size_t)model->shape.mlp;
    const size_t row = place_row(at, layer, first);
    const Activations *acts = at->acts;
    real *x = acts->x + (at->local * at->engine->length_padded + first) * width;
    residual_forward(at, x, acts->o + row * width, width, o->out, o->out_bias,
                     dropout_place(layer, DROP_ATTENTION), first, rows);
    if (!mlp) return;
    real *y = at->scratch->y, *h = at->scratch->wide, *u = acts->u + row * mlp;
    norm(at, PHASE_LINEAR, y, acts->xhat2 + row * width, acts->inverse2 + row, x, o->norm2_gain,
         o->norm2_bias, rows);
    gemm_packed(rows, mlp, width, y, width, packed(at, o->up), 0, u, mlp);
    if (o->up_bias != NONE) bias_forward(u, weight(at, o->up_bias), rows, mlp, mlp);
    gelu_forward(h, u, rows * mlp);
    residual_forward(at, x, h, mlp, o->down, o->down_bias, dropout_place(layer, DROP_MLP), first,
                     rows);
}

void block_mlp_backward(const Place *at, int layer, size_t first, size_t rows, real *slot) {
    const Engine *engine = at->engine;
    const Model *model = engine->model;
    const LayerOffsets *o = &model->layers[layer];
    const size_t width = (size_t)model->shape.width, mlp = (size_t)model->shape.mlp;
    const size_t row = place_row(at, layer, first);
    const Activations *acts = at->acts;
    real *dx = engine->dx + (at->item * engine->length_padded + first) * width;
    if (mlp) {
        real *y = at->scratch->y, *dy = at->scratch->dy;
        real *h = at->scratch->wide, *du = at->scratch->wide2;
        const real *u = acts->u + row * mlp;
        const real *dout = branch_gradient(at, dx, dropout_place(layer, DROP_MLP), first, rows);
        gemm_packed(rows, mlp, width, dout, width, transposed(at, o->down), 0, du, mlp);
        gelu_backward(du, h, u, rows * mlp);
        norm_again(y, acts->xhat2 + row * width, weight(at, o->norm2_gain),
                   weight(at, o->norm2_bias), rows, width);
        gemm_packed(rows, width, mlp, du, mlp, transposed(at, o->up), 0, dy, width);
        place_wait(at, 0, PHASE_LINEAR_BACKWARD);
        weight_backward(at, slot, o->down, o->down_bias, h, mlp, dout, rows);
        /* forward: u = y · W + bias */
        gemm_transposed(width, mlp, rows, y, width, du, mlp, 1, slot + o->up, mlp);
        if (o->up_bias != NONE) bias_backward(slot + o->up_bias, du, rows, mlp, mlp);
        norm_gradient(at, PHASE_LINEAR_BACKWARD, dx, slot, dy, acts->xhat2 + row * width,
                      acts->inverse2 + row, o->norm2_gain, o->norm2_bias, rows);
        link_pass(at->link, 0);
    }
    const real *dout = branch_gradient(at, dx, dropout_place(layer, DROP_ATTENTION), first, rows);
    real *d_o = acts->d_o + (at->local * engine->length_padded + first) * width;
    gemm_packed(rows, width, width, dout, width, transposed(at, o->out), 0, d_o, width);
    place_wait(at, 1, PHASE_LINEAR_BACKWARD);
    weight_backward(at, slot, o->out, o->out_bias, acts->o + row * width, width, dout, rows);
    link_pass(at->link, 1);
}

/* ---- output and loss ---------------------------------------------------------------------- */

void block_head(const Place *at, size_t first, size_t rows, real *slot) {
    const Engine *engine = at->engine;
    const Model *model = engine->model;
    const Batch *batch = &engine->batch;
    const ModelOutput *out = &engine->output;
    const size_t width = (size_t)model->shape.width, vocabulary = (size_t)model->shape.vocabulary;
    const size_t stride = round_up(vocabulary, 16);
    const size_t token = at->item * batch->length + first;
    Scratch *scratch = at->scratch;
    real *y = scratch->y, *xhat = scratch->wide2, inverse[BLOCK_ROWS];
    real *logits = scratch->wide;
    const bool tied = model->output == NONE;
    const size_t w = tied ? model->embedding : model->output;

    norm(at, PHASE_LOSS, y, xhat, inverse,
         at->acts->x + (at->local * engine->length_padded + first) * width, model->final_gain,
         model->final_bias, rows);
    gemm_packed(rows, vocabulary, width, y, width, tied ? transposed(at, w) : packed(at, w), 0,
                logits, stride);
    for (size_t row = 0; out->logits && row < rows; row++)
        memcpy(out->logits + (token + row) * vocabulary, logits + row * stride,
               vocabulary * sizeof(real));
    if (!batch->targets) return;
    real unwanted_loss[BLOCK_ROWS];
    int32_t unwanted_answer[BLOCK_ROWS];
    loss_forward(logits, out->loss ? out->loss + token : unwanted_loss,
                 out->answer ? out->answer + token : unwanted_answer, batch->targets + token, rows,
                 vocabulary, stride);
    if (!engine->training) return;

    loss_backward(logits, batch->targets + token, batch->scored + token, (real)engine->weight, rows,
                  vocabulary, stride);
    real *dy = scratch->dy;
    gemm_packed(rows, width, vocabulary, logits, stride,
                tied ? packed(at, w) : transposed(at, w), 0, dy, width);
    real *dx = engine->dx + (at->item * engine->length_padded + first) * width;
    memset(dx, 0, rows * width * sizeof(real));
    place_wait(at, 0, PHASE_LOSS);
    /* forward: logits = y · W, or y · Eᵀ when tied */
    if (tied)
        gemm_transposed(vocabulary, width, rows, logits, stride, y, width, 1, slot + w, width);
    else
        gemm_transposed(width, vocabulary, rows, y, width, logits, stride, 1, slot + w, vocabulary);
    norm_gradient(at, PHASE_LOSS, dx, slot, dy, xhat, inverse, model->final_gain, model->final_bias,
                  rows);
    link_pass(at->link, 0);
}
