#include "tests/golden.h"

#include "tests/attention_probe.h"
#include "tests/gradient_check.h"
#include "tests/hook_encodings.h"
#include "tests/tolerance.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

KindOptions golden_options(const Encoding *encoding, const char *text) {
    KindOptions options;
    option_defaults(encoding->options, &options);
    const char *unknown = option_assign(encoding->options, &options, text);
    if (unknown) ck_abort_msg("%s: %s", encoding->name, unknown);
    return options;
}

double golden_wave(int seed, size_t n) { return sin(0.37 * ((double)n * (double)n) + seed); }

static double *waves(int seed, size_t count) {
    double *x = ALLOCATE(count, double);
    for (size_t n = 0; n < count; n++) x[n] = golden_wave(seed, n);
    return x;
}

GoldenAttention golden_attention(const char *encoding, const char *options, size_t length,
                                 bool causal, const double *positions, double parameters) {
    enum { Q = 1, K = 2, V = 3, X = 4, PARAMETER = 11 }; /* seeds */
    const Encoding *e = tested_find(encoding);
    if (!e) ck_abort_msg("no encoding %s", encoding);
    const KindOptions chosen = golden_options(e, options);
    GoldenAttention a = {.length = length, .d = GOLDEN_WIDTH / GOLDEN_HEADS};
    a.owner = small_model_create(&(SmallModel){.encoding = e,
                                               .encoding_options = &chosen,
                                               .layers = 1,
                                               .heads = GOLDEN_HEADS,
                                               .head_width = (int)a.d,
                                               .bidirectional = !causal});
    Model *model = a.owner->model;
    ck_assert_ptr_null(model_refuse(&model->shape));
    for (int i = 0; i < model->parameter_count; i++) {
        const Parameter *p = &model->parameters[i];
        for (size_t n = 0; p->encoding_index >= 0 && n < p->count; n++)
            model->values[p->offset + n] =
                (real)(parameters * golden_wave(PARAMETER + p->encoding_index, n));
    }
    const size_t all = length * GOLDEN_WIDTH, square = GOLDEN_HEADS * length * length;
    double *q = waves(Q, all), *k = waves(K, all), *v = waves(V, all), *x = waves(X, all);
    a.score = ALLOCATE(square, double);
    a.probability = ALLOCATE(square, double);
    a.o = ALLOCATE(all, double);
    attention_probe(model, &(AttentionProbe){.length = length,
                                             .q = q,
                                             .k = k,
                                             .v = v,
                                             .x = x,
                                             .positions = positions,
                                             .score = a.score,
                                             .probability = a.probability,
                                             .o = a.o});
    free(q);
    free(k);
    free(v);
    free(x);
    return a;
}

void golden_attention_free(GoldenAttention *a) {
    small_model_free(a->owner);
    free(a->score);
    free(a->probability);
    free(a->o);
}

static void equal(const char *what, const double *a, const double *b, size_t count, double bound) {
    for (size_t i = 0; i < count; i++)
        if (!(a[i] == b[i] || fabs(a[i] - b[i]) <= bound))
            ck_abort_msg("%s[%zu]: %.12g and %.12g", what, i, a[i], b[i]);
}

void golden_equal(const GoldenAttention *a, const GoldenAttention *b, double bound) {
    const size_t square = GOLDEN_HEADS * a->length * a->length;
    equal("score", a->score, b->score, square, bound);
    equal("p", a->probability, b->probability, square, bound);
    equal("o", a->o, b->o, a->length * GOLDEN_WIDTH, bound);
}

static void near(const GoldenCase *c, const char *what, size_t head, size_t token, size_t n,
                 double found, double wanted) {
    if (!(fabs(found - wanted) <= TOLERANCE_ATTENTION))
        ck_abort_msg("%s, %s, length %zu: %s[%zu] of head %zu, token %zu: %.12g, wanted %.12g",
                     c->encoding, c->options, c->length, what, n, head, token, found, wanted);
}

void golden_compare(const GoldenCase *c) {
    const size_t length = c->length, given = (length + c->stride - 1) / c->stride;
    double *positions = c->positions == POSITIONS_PLAIN ? NULL : ALLOCATE(length, double);
    for (size_t i = 0; positions && i < length; i++)
        positions[i] =
            c->positions == POSITIONS_GAPS ? (double)(i + i * i / 50) : 1.37 * (double)i;
    GoldenAttention a =
        golden_attention(c->encoding, c->options, length, c->causal, positions, 1);
    for (size_t h = 0; h < GOLDEN_HEADS; h++)
        for (size_t i = 0; i < length; i++) {
            const size_t row = h * length + i;
            for (size_t j = 0; c->probability && j < length; j++)
                near(c, "p", h, i, j, a.probability[row * length + j],
                     c->probability[row * length + j]);
            for (size_t n = 0; i % c->stride == 0 && n < a.d; n++)
                near(c, "o", h, i, n, a.o[row * a.d + n],
                     c->o[(h * given + i / c->stride) * a.d + n]);
        }
    golden_attention_free(&a);
    free(positions);
}

void golden_gradients(const char *encoding, const char *options) {
    enum { LENGTH = 290, STRIDE = 7 };
    const Encoding *e = tested_find(encoding);
    const KindOptions chosen = golden_options(e, options);
    for (int both_ways = 0; both_ways < (e->needs_causal ? 1 : 2); both_ways++)
        for (int jumps = 0; jumps < 2; jumps++) {
            SmallModelOwner *owner = small_model_create(&(SmallModel){.encoding = e,
                                                                      .encoding_options = &chosen,
                                                                      .layers = 1,
                                                                      .heads = 1,
                                                                      .mlp = 6,
                                                                      .vocabulary = 5,
                                                                      .bidirectional = both_ways});
            SmallBatch *b = small_batch_create(owner->model, 1, LENGTH, 1);
            for (size_t i = 0; i < LENGTH; i++) b->positions[i] = (double)(i + 3 * (i % 5));
            if (jumps) b->batch.positions = b->positions;
            char what[100];
            snprintf(what, sizeof what, "%s, %s%s%s", encoding, options, jumps ? ", jumps" : "",
                     both_ways ? ", both ways" : "");
            gradient_check(what, owner->model, b, STRIDE);
            small_batch_free(b);
            small_model_free(owner);
        }
}
