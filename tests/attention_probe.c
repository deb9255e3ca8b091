#include "tests/attention_probe.h"

#include "src/model/engine.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void widen(double *to, const real *from, size_t count) {
    for (size_t i = 0; to && i < count; i++) to[i] = (double)from[i];
}

void attention_probe(Model *model, const AttentionProbe *probe) {
    const size_t length = probe->length, heads = (size_t)model->shape.heads;
    const size_t d = (size_t)model->encoding_shape.head_width, width = heads * d;
    const size_t w = (size_t)model->encoding_shape.qk_width;
    int32_t *tokens = ALLOCATE(length, int32_t);
    ModelDump dump = {0};
    dump.q[0] = ALLOCATE(heads * length * w, real);
    dump.k[0] = ALLOCATE(heads * length * w, real);
    dump.score[0] = ALLOCATE(heads * length * length, real);
    dump.probability[0] = ALLOCATE(heads * length * length, real);
    Engine *engine = engine_create(model);
    const Batch batch = {
        .items = 1, .length = length, .tokens = tokens, .positions = probe->positions};
    engine_begin(engine, &batch, &(ModelOutput){.dump = &dump}, false);
    Activations *acts = &engine->activations[0];
    for (size_t h = 0; h < heads; h++)
        for (size_t t = 0; t < length; t++)
            for (size_t c = 0; c < d; c++) {
                const size_t from = (h * length + t) * d + c, to = t * 3 * width + h * d + c;
                acts->qkv[to] = (real)probe->q[from];
                acts->qkv[to + width] = (real)probe->k[from];
                acts->qkv[to + 2 * width] = (real)probe->v[from];
            }
    if (model->shape.encoding->gate) {
        ck_assert_ptr_nonnull(probe->x);
        real *x = ALLOCATE(length * width, real);
        for (size_t i = 0; i < length * width; i++) x[i] = (real)probe->x[i];
        const Site site = engine_site(engine, 0, -1, 0);
        model->shape.encoding->gate(&site, length, x, acts->gate);
        free(x);
    }
    for (size_t h = 0; h < heads; h++) {
        const Place at = {.engine = engine, .acts = acts, .scratch = &engine->scratch[0]};
        if (model->shape.linear) {
            linear_forward(&at, 0, (int)h);
            continue;
        }
        Pack *pack = engine->whole_unit ? &engine->scratch[0].pack : &engine->packs[h];
        attention_pack(&at, 0, (int)h, pack);
        for (size_t block = 0; block < engine->query_blocks; block++)
            attention_forward(&at, 0, (int)h, pack, block);
    }
    widen(probe->rotated_q, dump.q[0], heads * length * w);
    widen(probe->rotated_k, dump.k[0], heads * length * w);
    widen(probe->score, dump.score[0], heads * length * length);
    widen(probe->probability, dump.probability[0], heads * length * length);
    for (size_t h = 0; probe->o && h < heads; h++)
        for (size_t t = 0; t < length; t++)
            widen(probe->o + (h * length + t) * d, acts->o + t * width + h * d, d);
    engine_free(engine);
    free(dump.q[0]);
    free(dump.k[0]);
    free(dump.score[0]);
    free(dump.probability[0]);
    free(tokens);
}

real *probe_parameter(Model *model, const char *name) {
    for (int i = 0; i < model->parameter_count; i++) {
        const char *own = strrchr(model->parameters[i].name, '/');
        if (own && !strcmp(own + 1, name) && model->parameters[i].encoding_index >= 0)
            return model->values + model->parameters[i].offset;
    }
    ck_abort_msg("%s has no parameter %s", model->shape.encoding->name, name);
}
