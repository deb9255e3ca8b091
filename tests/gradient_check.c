#include "tests/gradient_check.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

typedef struct {
    Engine *engine;
    Model *model;
    const SmallBatch *b;
    double weight;
    real *scratch; /* [model->count] */
} Loss;

/* The loss with one value moved. Dropout is there in training alone, so then the loss is the one
   that training reports. */
static double loss_at(const Loss *l, real *value, double moved) {
    const real before = *value;
    double loss;
    *value = (real)moved;
    if (l->model->shape.dropout > 0) {
        loss = 0;
        engine_gradient(l->engine, &l->b->batch, 1, false, l->scratch, &l->b->output);
        for (size_t i = 0; i < l->b->batch.items * l->b->batch.length; i++)
            if (l->b->scored[i]) loss += l->weight * (double)l->b->output.loss[i];
    } else {
        loss = small_batch_loss(l->engine, l->b, l->weight);
    }
    *value = before;
    return loss;
}

static double two_points(const Loss *l, real *value, double step) {
    const double at = (double)*value;
    return (loss_at(l, value, at + step) - loss_at(l, value, at - step)) / (2 * step);
}

static bool agree(double gradient, double difference, double doubt) {
    return fabs(gradient - difference) <= 1e-8 + 1e-6 * fabs(difference) + doubt;
}

size_t gradient_check(const char *what, Model *model, const SmallBatch *batch, size_t stride) {
    Loss l = {engine_create(model), model, batch, 1 / (double)batch->scored_count,
              ALLOCATE(model->count, real)};
    real *gradients = ALLOCATE(model->count, real);
    engine_gradient(l.engine, &batch->batch, l.weight, false, gradients, &batch->output);
    size_t checked = 0;
    for (int i = 0; i < model->parameter_count; i++) {
        const Parameter *p = &model->parameters[i];
        for (size_t j = 0; j < p->count; j += stride, checked++) {
            real *value = &model->values[p->offset + j];
            const double gradient = (double)gradients[p->offset + j];
            const double step = 1e-5 * fmax(1, fabs((double)*value));
            double difference = two_points(&l, value, step);
            /* Curvature, or a kink nearby (interpolated tables have them), spoils a difference:
               once more from four points, ten times as close, as good as two steps agree. */
            double doubt = 0;
            if (!agree(gradient, difference, doubt)) {
                const double near_by = two_points(&l, value, step / 10);
                const double farther = two_points(&l, value, step / 5);
                difference = (4 * near_by - farther) / 3;
                doubt = 2 * fabs(near_by - farther);
            }
            if (!agree(gradient, difference, doubt))
                ck_abort_msg("%s: d loss / d %s[%zu]: backward %.12g, difference %.12g", what,
                             p->name, j, gradient, difference);
        }
    }
    free(gradients);
    free(l.scratch);
    engine_free(l.engine);
    return checked;
}
