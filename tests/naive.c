#include "tests/naive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double position(const double *positions, size_t i) {
    return positions ? positions[i] : (double)i;
}

static bool visible(const NaiveAttention *a, size_t i, size_t j) {
    const double distance = position(a->positions, i) - position(a->positions, j);
    if (a->causal && j > i) return false;
    if (a->segments && (a->segments[i] < 0 || a->segments[i] != a->segments[j])) return false;
    return !a->window || (distance >= 0 && distance < (double)a->window);
}

void naive_attention(const NaiveAttention *a) {
    const size_t length = a->length;
    double *s = ALLOCATE(length, double);
    for (size_t i = 0; i < length; i++) {
        double top = -(double)INFINITY, sum = 0;
        for (size_t j = 0; j < length; j++) {
            s[j] = -(double)INFINITY;
            if (!visible(a, i, j)) continue;
            double product = 0;
            for (size_t c = 0; c < a->width; c++)
                product += a->q[i * a->width + c] * a->k[j * a->width + c];
            s[j] = product * a->scale;
            if (a->add)
                s[j] += a->add(a->of, i, j, position(a->positions, i) - position(a->positions, j));
            top = fmax(top, s[j]);
        }
        if (a->score) memcpy(a->score + i * length, s, length * sizeof(double));
        /* A row that sees nothing has no probabilities. */
        for (size_t j = 0; j < length; j++) sum += s[j] = isinf(top) ? 0 : exp(s[j] - top);
        for (size_t j = 0; j < length; j++) s[j] = sum > 0 ? s[j] / sum : 0;
        if (a->probability) memcpy(a->probability + i * length, s, length * sizeof(double));
        for (size_t c = 0; a->o && c < a->value_width; c++) {
            double o = 0;
            for (size_t j = 0; j < length; j++)
                if (s[j] > 0) o += s[j] * a->v[j * a->value_width + c];
            a->o[i * a->value_width + c] = o;
        }
    }
    free(s);
}

/* ---- the model ----------------------------------------------------------------------------- */

typedef struct {
    const Model *model;
    const double *values, *positions;
    const int32_t *segments;
    size_t length;
} Item;

static const double *at(const Item *item, size_t offset) {
    return offset == NONE ? NULL : item->values + offset;
}

/* y[length, out] (+)= x[length, in] · w + bias */
static void linear(const Item *item, double *y, const double *x, size_t in, size_t out,
                   const double *w, const double *bias, bool add) {
    for (size_t i = 0; i < item->length; i++)
        for (size_t c = 0; c < out; c++) {
            double sum = bias ? bias[c] : 0;
            for (size_t p = 0; p < in; p++) sum += x[i * in + p] * w[p * out + c];
            y[i * out + c] = sum + (add ? y[i * out + c] : 0);
        }
}

static void norm(const Item *item, double *y, const double *x, size_t width, const double *gain,
                 const double *bias) {
    for (size_t i = 0; i < item->length; i++, x += width, y += width) {
        double mean = 0, square = 0;
        for (size_t c = 0; c < width; c++) mean += x[c] / (double)width;
        for (size_t c = 0; c < width; c++) square += (x[c] - mean) * (x[c] - mean) / (double)width;
        for (size_t c = 0; c < width; c++)
            y[c] = (x[c] - mean) / sqrt(square + 1e-5) * gain[c] + (bias ? bias[c] : 0);
    }
}

/* RoFormer's equation 34 with LLaMA's pairs: channels c and c + d/2 turn by m 10000^(-2c/d). */
static void rotate(double *x, size_t d, double m) {
    for (size_t c = 0; c < d / 2; c++) {
        const double angle = m * pow(10000, -2 * (double)c / (double)d);
        const double a = x[c], b = x[c + d / 2];
        x[c] = a * cos(angle) - b * sin(angle);
        x[c + d / 2] = a * sin(angle) + b * cos(angle);
    }
}

static void embed(const Item *item, double *x, const int32_t *tokens) {
    const Model *model = item->model;
    const char *encoding = model->shape.encoding->name;
    const size_t width = (size_t)model->shape.width;
    for (size_t i = 0; i < item->length; i++)
        for (size_t c = 0; c < width; c++) {
            const double m = position(item->positions, i);
            double *to = &x[i * width + c];
            *to = at(item, model->embedding)[(size_t)tokens[i] * width + c];
            if (!strcmp(encoding, "learned"))
                *to += at(item, model->layers[0].encoding[0])[(size_t)m * width + c];
            if (!strcmp(encoding, "sinusoidal")) {
                const double angle = m * pow(10000, -(double)(c - c % 2) / (double)width);
                *to += 0.05 * (c % 2 ? cos(angle) : sin(angle));
            }
        }
}

static void attend(const Item *item, double *o, const double *qkv) {
    const ModelShape *shape = &item->model->shape;
    const size_t length = item->length, width = (size_t)shape->width;
    const size_t heads = (size_t)shape->heads, d = width / heads;
    const bool rope = !strcmp(shape->encoding->name, "rope");
    double *part = ALLOCATE(4 * length * d, double);
    double *q = part, *k = q + length * d, *v = k + length * d, *out = v + length * d;
    for (size_t h = 0; h < heads; h++) {
        for (size_t i = 0; i < length; i++) {
            for (size_t c = 0; c < d; c++) {
                const double *from = qkv + i * 3 * width + h * d + c;
                q[i * d + c] = from[0];
                k[i * d + c] = from[width];
                v[i * d + c] = from[2 * width];
            }
            if (rope) rotate(q + i * d, d, position(item->positions, i));
            if (rope) rotate(k + i * d, d, position(item->positions, i));
        }
        naive_attention(&(NaiveAttention){.length = length,
                                          .width = d,
                                          .value_width = d,
                                          .q = q,
                                          .k = k,
                                          .v = v,
                                          .scale = 1 / sqrt((double)d),
                                          .causal = shape->causal,
                                          .positions = item->positions,
                                          .segments = item->segments,
                                          .o = out});
        for (size_t i = 0; i < length; i++)
            memcpy(o + i * width + h * d, out + i * d, d * sizeof(double));
    }
    free(part);
}

static void layer(const Item *item, int index, double *x) {
    const ModelShape *shape = &item->model->shape;
    const LayerOffsets *l = &item->model->layers[index];
    const size_t length = item->length, width = (size_t)shape->width, mlp = (size_t)shape->mlp;
    double *y = ALLOCATE(length * width, double), *qkv = ALLOCATE(length * 3 * width, double);
    norm(item, y, x, width, at(item, l->norm1_gain), at(item, l->norm1_bias));
    linear(item, qkv, y, width, 3 * width, at(item, l->qkv), at(item, l->qkv_bias), false);
    attend(item, y, qkv);
    linear(item, x, y, width, width, at(item, l->out), at(item, l->out_bias), true);
    if (mlp) {
        double *u = ALLOCATE(length * mlp, double);
        norm(item, y, x, width, at(item, l->norm2_gain), at(item, l->norm2_bias));
        linear(item, u, y, width, mlp, at(item, l->up), at(item, l->up_bias), false);
        for (size_t i = 0; i < length * mlp; i++)
            u[i] *= 0.5 * (1 + tanh(sqrt(2 / M_PI) * (u[i] + 0.044715 * u[i] * u[i] * u[i])));
        linear(item, x, u, mlp, width, at(item, l->down), at(item, l->down_bias), true);
        free(u);
    }
    free(y);
    free(qkv);
}

double naive_model(const Model *model, const double *values, const Batch *batch, double weight,
                   double *logits) {
    const ModelShape *shape = &model->shape;
    const size_t length = batch->length, width = (size_t)shape->width;
    const size_t vocabulary = (size_t)shape->vocabulary;
    double *x = ALLOCATE(length * width, double), *own = ALLOCATE(length * vocabulary, double);
    double sum = 0;
    for (size_t b = 0; b < batch->items; b++) {
        const Item item = {model, values, batch->positions ? batch->positions + b * length : NULL,
                           batch->segments ? batch->segments + b * length : NULL, length};
        embed(&item, x, batch->tokens + b * length);
        for (int index = 0; index < shape->layers; index++) layer(&item, index, x);
        norm(&item, x, x, width, at(&item, model->final_gain), at(&item, model->final_bias));
        for (size_t i = 0; i < length; i++)
            for (size_t t = 0; t < vocabulary; t++) {
                double *to = &own[i * vocabulary + t];
                *to = 0;
                for (size_t c = 0; c < width; c++)
                    *to += x[i * width + c] * (shape->tied
                                                   ? values[model->embedding + t * width + c]
                                                   : values[model->output + c * vocabulary + t]);
            }
        if (logits)
            memcpy(logits + b * length * vocabulary, own, length * vocabulary * sizeof(double));
        for (size_t i = 0; batch->targets && i < length; i++) {
            if (!batch->scored[b * length + i]) continue;
            double total = 0;
            for (size_t t = 0; t < vocabulary; t++) total += exp(own[i * vocabulary + t]);
            sum += log(total) - own[i * vocabulary + (size_t)batch->targets[b * length + i]];
        }
    }
    free(x);
    free(own);
    return weight * sum;
}
