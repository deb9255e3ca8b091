#include "src/train.h"

#include "src/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

ModelShape train_shape(const Config *config) {
    return (ModelShape){.layers = (int)config->model.layers,
                        .width = (int)config->model.width,
                        .heads = (int)config->model.heads,
                        .mlp = (int)(config->model.mlp * config->model.width),
                        .vocabulary = config->task->vocabulary(&config->task_options),
                        .bias = config->model.bias,
                        .tied = config->model.tied,
                        .causal = config->model.causal,
                        .dropout = config->model.dropout,
                        .init = (ModelInit)config->model.init,
                        .init_std = config->model.init_std,
                        .encoding = config->model.encoding,
                        .encoding_options = &config->model.encoding_options,
                        .positions = config->model.positions,
                        .position_options = &config->model.position_options,
                        .trained_length = config_longest(config),
                        .linear = config_linear(config)};
}

/* The batch of a step is cut into train.accumulate parts. */
static size_t part_items(const Config *config, size_t items) {
    const size_t parts = (size_t)config->train.accumulate;
    return (items + parts - 1) / parts;
}

/* Calls visit for (items, length) of batches, among them those that need the most. Of a range these
   are the longest ones with each number of sequences, since for as many sequences memory grows with
   the length; but the engine cuts batches otherwise beyond some powers of two. */
static void visit_shapes(const Config *config, void (*visit)(void *, size_t items, size_t length),
                         void *to) {
    for (int s = 0; s < config->train.stage_count; s++) {
        const Stage *stage = &config->train.stages[s];
        const IntegerList *list = &stage->length.list;
        for (int i = 0; !stage->length.range && i < list->count; i++) {
            const size_t length = (size_t)list->values[i];
            visit(to, config_batch_size(config, stage, length), length);
        }
        const size_t longest = stage->length.range ? (size_t)list->values[1] : 0;
        for (size_t length = (size_t)list->values[0]; length <= longest; length++) {
            const size_t items = config_batch_size(config, stage, length);
            size_t last = longest, power = 1;
            while (power < length) power *= 2;
            if (items > 1 && !stage->batch) last = (size_t)config->train.tokens / items;
            length = least(least(last, power), longest);
            visit(to, items, length);
        }
    }
}

typedef struct {
    const Config *config;
    Engine *engine;
    Model *described;
    int threads;
    size_t tokens; /* the most of a batch */
    double bytes;
} Sizes;

static void measure(void *to, size_t items, size_t length) {
    Sizes *sizes = to;
    sizes->tokens = most(sizes->tokens, items * length);
    const size_t part = part_items(sizes->config, items);
    if (sizes->engine)
        engine_reserve(sizes->engine, part, length, true);
    else
        sizes->bytes = fmax(sizes->bytes, engine_bytes_needed(sizes->described, part, length, true,
                                                              sizes->threads));
}

double train_bytes(const Config *config, int threads) {
    const ModelShape shape = train_shape(config);
    Model *described = model_describe(&shape);
    Sizes sizes = {.config = config, .described = described, .threads = threads};
    visit_shapes(config, measure, &sizes);
    for (int i = 0; i < config->evaluate.lengths.count; i++) {
        const size_t length = (size_t)config->evaluate.lengths.values[i];
        const size_t items = evaluate_items(length, config->evaluate.examples);
        sizes.bytes = fmax(sizes.bytes,
                           engine_bytes_needed(described, items, length, false, threads));
    }
    const size_t longest = config_longest(config); /* for validation */
    sizes.bytes = fmax(sizes.bytes, engine_bytes_needed(
                                        described,
                                        evaluate_items(longest, config->evaluate.examples),
                                        longest, false, threads));
    /* values, gradients, two moments */
    const double bytes = sizes.bytes + 4.0 * (double)described->count * sizeof(real);
    model_free(described);
    return bytes;
}

/* Of the steps from `first` on. Lengths that are drawn are drawn here too, unless they are so many
   that the first ones tell the mean. */
static double stage_flops(const Config *config, const Stage *stage, int64_t first) {
    static const int64_t most_draws = 1000000;
    const ModelShape shape = train_shape(config);
    const bool drawn = stage->length.range || stage->length.list.count > 1;
    const int64_t draws = !drawn ? 1 : stage->steps < most_draws ? stage->steps : most_draws;
    double flops = 0;
    for (int64_t i = 0; i < draws; i++) {
        size_t length, items;
        config_batch(config, first + i, &length, &items);
        flops += model_step_flops(&shape, items, length);
    }
    return flops / (double)draws * (double)stage->steps;
}

double train_flops(const Config *config) {
    double flops = 0;
    int64_t first = 1;
    for (int s = 0; s < config->train.stage_count; s++) {
        const Stage *stage = &config->train.stages[s];
        flops += stage_flops(config, stage, first);
        first += stage->steps;
    }
    return flops;
}

Trainer *train_create(const Config *config) {
    Trainer *t = ALLOCATE(1, Trainer);
    const ModelShape shape = train_shape(config);
    t->config = config;
    t->model = model_create(&shape, config->init_seed);
    t->engine = engine_create(t->model);
    Sizes sizes = {.config = config, .engine = t->engine};
    visit_shapes(config, measure, &sizes);
    t->examples = examples_new(sizes.tokens);
    t->output.loss = ALLOCATE(sizes.tokens, real);
    t->output.answer = ALLOCATE(sizes.tokens, int32_t);
    const size_t count = t->model->count, parameters = (size_t)t->model->parameter_count;
    t->gradients = ALLOCATE(count, real);
    t->moment1 = ALLOCATE(count, real);
    t->moment2 = ALLOCATE(count, real);
    t->groups = ALLOCATE(parameters, OptimGroup);
    t->group_count = parameters;
    t->update_count = ALLOCATE(parameters, int64_t *);
    for (size_t i = 0; i < parameters; i++) {
        const Parameter *p = &t->model->parameters[i];
        t->groups[i] = (OptimGroup){p->offset, p->count, p->decay};
        if (p->counts_rows) t->update_count[i] = ALLOCATE(p->dims[0], int64_t);
    }
    return t;
}

void train_free(Trainer *t) {
    if (!t) return;
    for (int i = 0; i < t->model->parameter_count; i++) free(t->update_count[i]);
    free(t->update_count);
    free(t->groups);
    free(t->gradients);
    free(t->moment1);
    free(t->moment2);
    free(t->output.loss);
    free(t->output.answer);
    examples_free(&t->examples);
    engine_free(t->engine);
    model_free(t->model);
    free(t);
}

/* Which rows of the counted tables got a gradient in this step. */
static void count_updates(Trainer *t) {
    for (int i = 0; i < t->model->parameter_count; i++) {
        const Parameter *p = &t->model->parameters[i];
        if (!p->counts_rows) continue;
        const size_t width = p->count / p->dims[0];
        for (size_t row = 0; row < p->dims[0]; row++) {
            const real *g = t->gradients + p->offset + row * width;
            bool touched = false;
            for (size_t c = 0; c < width && !touched; c++) touched = g[c] < 0 || g[c] > 0;
            t->update_count[i][row] += touched;
        }
    }
}

/* The first tensor that is not finite, values before gradients, as a sentence. */
static const char *not_finite(const Trainer *t) {
    static char reason[256];
    for (int which = 0; which < 2; which++)
        for (int i = 0; i < t->model->parameter_count; i++) {
            const Parameter *p = &t->model->parameters[i];
            const real *array = (which ? t->gradients : t->model->values) + p->offset;
            const size_t at = optim_find_nonfinite(p->count, array);
            if (at == p->count) continue;
            snprintf(reason, sizeof reason,
                     "step %lld: %s%s[%zu] is %g, not finite; loss was %g, learning rate %g",
                     (long long)t->step, which ? "the gradient of " : "", p->name, at,
                     (double)array[at], t->loss, t->learning_rate);
            return reason;
        }
    snprintf(reason, sizeof reason, "step %lld: the loss is %g, not finite", (long long)t->step,
             t->loss);
    return reason;
}

static void project(const Trainer *t) {
    const Encoding *encoding = t->model->shape.encoding;
    if (!encoding->project) return;
    for (int layer = 0; layer < t->model->shape.layers; layer++) {
        real *parameters[ENCODING_PARAMETERS];
        for (int k = 0; k < ENCODING_PARAMETERS; k++)
            parameters[k] = t->model->values + t->model->layers[layer].encoding[k];
        encoding->project(&t->model->encoding_shape, parameters);
    }
}

const char *train_step(Trainer *t) {
    const Config *config = t->config;
    const double start = seconds_now();
    const int64_t step = ++t->step;
    const Stage *stage = &config->train.stages[config_stage(config, step, NULL)];
    size_t length, items;
    config_batch(config, step, &length, &items);
    const char *failed =
        examples_fill(config->task, &stage->task_options, config->data_seed, RNG_TRAIN,
                      (uint64_t)step, 0, items, length, &t->examples);
    if (failed) {
        static char reason[1100];
        snprintf(reason, sizeof reason, "step %lld, %s", (long long)step, failed);
        return reason;
    }
    t->times.data += seconds_now() - start;
    size_t scored = 0;
    for (size_t i = 0; i < items * length; i++) scored += t->examples.scored[i];

    /* The loss is the mean over all scored tokens of the step, however it is cut into parts. */
    const double weight = scored ? 1 / (double)scored : 0;
    const size_t part = part_items(config, items);
    for (size_t first = 0; first < items; first += part) {
        const size_t at = first * length;
        const Batch batch = {.items = least(part, items - first),
                             .length = length,
                             .tokens = t->examples.tokens + at,
                             .targets = t->examples.targets + at,
                             .scored = t->examples.scored + at,
                             .seed = config->data_seed,
                             .step = (uint64_t)step,
                             .first_item = first};
        const ModelOutput output = {.loss = t->output.loss + at, .answer = t->output.answer + at};
        engine_gradient(t->engine, &batch, weight, first > 0, t->gradients, &output);
    }

    double loss = 0;
    size_t right = 0;
    for (size_t i = 0; i < items * length; i++)
        if (t->examples.scored[i]) {
            loss += (double)t->output.loss[i];
            right += t->output.answer[i] == t->examples.targets[i];
        }
    t->loss = scored ? loss / (double)scored : (double)NAN;
    t->accuracy = scored ? (double)right / (double)scored : (double)NAN;
    t->learning_rate = config_learning_rate(config, step);
    const double optimizer = seconds_now();
    t->gradient_norm = optim_norm(t->model->count, t->gradients);
    if (!isfinite(t->gradient_norm) || (scored && !isfinite(t->loss))) return not_finite(t);

    count_updates(t);
    const OptimSettings settings = {config->train.beta1, config->train.beta2, config->train.epsilon,
                                    config->train.weight_decay};
    optim_step(t->group_count, t->groups, &settings, step, t->learning_rate,
               optim_clip_scale(t->gradient_norm, config->train.clip), t->model->values,
               t->gradients, t->moment1, t->moment2);
    project(t);
    t->times.optimizer += seconds_now() - optimizer;

    const double seconds = seconds_now() - start;
    t->tokens += (int64_t)(items * length);
    t->flops += model_step_flops(&t->model->shape, items, length);
    t->seconds += seconds;
    t->window.loss += loss;
    t->window.scored += (double)scored;
    t->window.right += (double)right;
    t->window.tokens += (double)(items * length);
    t->window.seconds += seconds;
    return NULL;
}
