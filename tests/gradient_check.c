#include "tests/gradient_check.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

size_t gradient_check(const char *what, Model *model, const SmallBatch *batch, size_t stride) {
    Engine *engine = engine_create(model);
    const double weight = 1 / (double)batch->scored_count;
    real *gradients = ALLOCATE(model->count, real);
    engine_gradient(engine, &batch->batch, weight, false, gradients, &batch->output);
    size_t checked = 0;
    for (int i = 0; i < model->parameter_count; i++) {
        const Parameter *p = &model->parameters[i];
        for (size_t j = 0; j < p->count; j += p->count > 64 ? stride : 1, checked++) {
            real *value = &model->values[p->offset + j];
            const real before = *value;
            const double step = 1e-5 * fmax(1, fabs((double)before));
            *value = (real)((double)before + step);
            const double up = small_batch_loss(engine, batch, weight);
            *value = (real)((double)before - step);
            const double down = small_batch_loss(engine, batch, weight);
            *value = before;
            const double difference = (up - down) / (2 * step);
            const double gradient = (double)gradients[p->offset + j];
            ck_assert_msg(fabs(gradient - difference) <= 1e-8 + 1e-6 * fabs(difference),
                          "%s: d loss / d %s[%zu]: backward %.12g, difference %.12g", what, p->name,
                          j, gradient, difference);
        }
    }
    free(gradients);
    engine_free(engine);
    return checked;
}
