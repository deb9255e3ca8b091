#include "tests/small_model.h"

#include "tests/hook_encodings.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static int or_default(int value, int fallback) {
    return value ? value : fallback;
}

SmallModelOwner *small_model_create(const SmallModel *wanted) {
    SmallModelOwner *owner = ALLOCATE(1, SmallModelOwner);
    const Encoding *encoding = wanted->encoding ? wanted->encoding : encoding_find("nope");
    const PositionSource *positions =
        wanted->positions ? wanted->positions : position_source_find("plain");
    option_defaults(encoding->options, &owner->encoding_options);
    option_defaults(positions->options, &owner->position_options);
    if (wanted->encoding_options)
        memcpy(&owner->encoding_options, wanted->encoding_options, encoding->options_size);
    if (wanted->position_options)
        memcpy(&owner->position_options, wanted->position_options, positions->options_size);
    const int heads = or_default(wanted->heads, 3);
    ModelShape shape = {
        .layers = or_default(wanted->layers, 2),
        .heads = heads,
        .width = heads * or_default(wanted->head_width, 4),
        .mlp = wanted->mlp < 0 ? 0 : or_default(wanted->mlp, 20),
        .vocabulary = or_default(wanted->vocabulary, 7),
        .bias = wanted->bias,
        .tied = wanted->tied,
        .causal = !wanted->bidirectional,
        .dropout = wanted->dropout,
        .init_std = wanted->init_std > 0 ? wanted->init_std : 0.3,
        .encoding = encoding,
        .encoding_options = &owner->encoding_options,
        .positions = positions,
        .position_options = &owner->position_options,
        .trained_length = wanted->trained_length ? wanted->trained_length : 1024,
        .linear = wanted->linear ? wanted->linear : tested_linear(encoding),
    };
    owner->model = model_create(&shape, wanted->seed ? wanted->seed : 1);
    /* Move every parameter off the special values 0 and 1, so that no gradient is hidden. */
    Rng rng = rng_stream(77, RNG_TEST, 0, 0);
    for (int i = 0; i < owner->model->parameter_count; i++) {
        const Parameter *p = &owner->model->parameters[i];
        for (size_t j = 0; j < p->count; j++)
            owner->model->values[p->offset + j] += (real)(0.1 * rng_normal(&rng));
    }
    return owner;
}

void small_model_free(SmallModelOwner *owner) {
    model_free(owner->model);
    free(owner);
}

void small_option(const Option *table, void *options, const char *name, double value) {
    const Option *option = option_find(table, name);
    if (!option) ck_abort_msg("there is no option %s", name);
    void *field = (char *)options + option->offset;
    switch (option->type) {
    case OPTION_BOOLEAN: *(bool *)field = value != 0; break;
    case OPTION_INTEGER: *(int64_t *)field = (int64_t)value; break;
    case OPTION_NUMBER: *(double *)field = value; break;
    case OPTION_CHOICE: *(int *)field = (int)value; break;
    default: ck_abort_msg("%s is neither a number nor a choice", name);
    }
}

SmallBatch *small_batch_create(const Model *model, size_t items, size_t length, uint64_t seed) {
    SmallBatch *b = ALLOCATE(1, SmallBatch);
    const size_t count = items * length;
    const uint64_t vocabulary = (uint64_t)model->shape.vocabulary;
    b->tokens = ALLOCATE(count, int32_t);
    b->targets = ALLOCATE(count, int32_t);
    b->scored = ALLOCATE(count, uint8_t);
    b->positions = ALLOCATE(count, double);
    b->segments = ALLOCATE(count, int32_t);
    b->output.loss = ALLOCATE(count, real);
    b->output.answer = ALLOCATE(count, int32_t);
    Rng rng = rng_stream((int64_t)seed, RNG_TEST, 1, 0);
    for (size_t i = 0; i < count; i++) {
        b->tokens[i] = (int32_t)rng_below(&rng, vocabulary);
        b->targets[i] = (int32_t)rng_below(&rng, vocabulary);
        b->scored[i] = rng_below(&rng, 3) > 0;
        b->positions[i] = (double)(i % length);
        b->scored_count += b->scored[i];
    }
    b->batch = (Batch){.items = items,
                       .length = length,
                       .tokens = b->tokens,
                       .targets = b->targets,
                       .scored = b->scored,
                       .seed = 5,
                       .step = 3};
    return b;
}

void small_batch_free(SmallBatch *b) {
    free(b->tokens);
    free(b->targets);
    free(b->scored);
    free(b->positions);
    free(b->segments);
    free(b->output.loss);
    free(b->output.answer);
    free(b->output.logits);
    free(b);
}

double small_batch_loss(Engine *engine, const SmallBatch *b, double weight) {
    engine_forward(engine, &b->batch, &b->output);
    double sum = 0;
    for (size_t i = 0; i < b->batch.items * b->batch.length; i++)
        if (b->scored[i]) sum += (double)b->output.loss[i];
    return weight * sum;
}
