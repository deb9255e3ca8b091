#include "src/evaluate.h"

#include "src/examples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const size_t PASS_TOKENS = 16384;

size_t evaluate_items(size_t length, int64_t examples) {
    return most(1, least((size_t)examples, PASS_TOKENS / length));
}

/* Bins of equal width over 0 .. length; every bin holds at least one place. */
static size_t make_bins(EvaluateBin *bins, size_t most_bins, size_t length, size_t *width) {
    *width = (length + most_bins - 1) / most_bins;
    const size_t count = (length + *width - 1) / *width;
    for (size_t b = 0; b < count; b++) bins[b] = (EvaluateBin){.from = (int64_t)(b * *width)};
    return count;
}

static void add(EvaluateBin *bin, bool right, double loss) {
    bin->count++;
    bin->accuracy += right;
    bin->loss += loss;
}

static void finish(EvaluateBin *bins, size_t count) {
    for (size_t b = 0; b < count; b++) {
        const double n = bins[b].count ? (double)bins[b].count : (double)NAN;
        bins[b].accuracy /= n;
        bins[b].loss /= n;
    }
}

/* Examples of the task with `options`, from the stream of `purpose`. */
static const char *measure(const Config *config, const void *options, const Model *model,
                           Engine *engine, RngPurpose purpose, size_t length,
                           Evaluation *evaluation) {
    *evaluation = (Evaluation){.length = length,
                               .loss = (double)NAN,
                               .token_accuracy = (double)NAN,
                               .sequence_accuracy = (double)NAN,
                               .interval = {(double)NAN, (double)NAN},
                               .random = config->task->chance(options),
                               .majority = (double)NAN};
    Evaluation *e = evaluation;
    const char *reason = model_defined(model, length);
    if (reason) {
        snprintf(e->undefined, sizeof e->undefined, "%s", reason);
        return NULL;
    }
    const int64_t examples = config->evaluate.examples;
    const size_t items = evaluate_items(length, examples);
    size_t position_width, distance_width;
    e->position_bins =
        make_bins(e->by_position, EVALUATE_POSITION_BINS, length, &position_width);
    e->distance_bins =
        make_bins(e->by_distance, EVALUATE_DISTANCE_BINS, length, &distance_width);
    Examples batch = examples_new(items * length);
    real *loss = ALLOCATE(items * length, real);
    int32_t *answer = ALLOCATE(items * length, int32_t);
    int64_t *right = ALLOCATE((size_t)examples, int64_t);
    int64_t *scored = ALLOCATE((size_t)examples, int64_t);
    int64_t *targets = ALLOCATE((size_t)model->shape.vocabulary, int64_t);
    double loss_sum = 0;
    int64_t all = 0, all_right = 0, whole = 0;
    engine_reserve(engine, items, length, false);

    const char *failed = NULL;
    for (size_t first = 0; first < (size_t)examples; first += items) {
        const size_t count = least(items, (size_t)examples - first);
        failed = examples_fill(config->task, options, config->data_seed, purpose, length, first,
                               count, length, &batch);
        if (failed) break;
        engine_forward(engine,
                       &(Batch){.items = count,
                                .length = length,
                                .tokens = batch.tokens,
                                .targets = batch.targets,
                                .scored = batch.scored,
                                .seed = config->data_seed,
                                .first_item = first},
                       &(ModelOutput){.loss = loss, .answer = answer});
        for (size_t i = 0; i < count * length; i++) {
            if (!batch.scored[i]) continue;
            const size_t example = first + i / length;
            const bool good = answer[i] == batch.targets[i];
            scored[example]++;
            right[example] += good;
            targets[batch.targets[i]]++;
            loss_sum += (double)loss[i];
            add(&e->by_position[i % length / position_width], good, (double)loss[i]);
            add(&e->by_distance[(size_t)batch.distance[i] / distance_width], good,
                (double)loss[i]);
        }
    }
    for (int64_t i = 0; i < examples; i++) {
        all += scored[i];
        all_right += right[i];
        whole += right[i] == scored[i];
    }
    int64_t most_frequent = 0;
    for (int v = 0; v < model->shape.vocabulary; v++)
        if (targets[v] > most_frequent) most_frequent = targets[v];
    e->examples = examples;
    e->loss = loss_sum / (double)all;
    e->token_accuracy = (double)all_right / (double)all;
    e->sequence_accuracy = (double)whole / (double)examples;
    e->interval = interval_clustered((size_t)examples, right, scored, 0.95);
    e->majority = (double)most_frequent / (double)all;
    finish(e->by_position, e->position_bins);
    finish(e->by_distance, e->distance_bins);
    examples_free(&batch);
    free(loss);
    free(answer);
    free(right);
    free(scored);
    free(targets);
    return failed;
}

const char *evaluate(const Config *config, const Model *model, Engine *engine, size_t length,
                     Evaluation *evaluation) {
    return measure(config, &config->task_options, model, engine, RNG_EVALUATE, length,
                   evaluation);
}

const char *evaluate_validation(const Config *config, const Model *model, Engine *engine,
                                Evaluation *evaluation) {
    const size_t length = config_longest(config);
    const Stage *stage = config->train.stages; /* the last one that trains at this length */
    for (int s = 0; s < config->train.stage_count; s++) {
        const IntegerList *list = &config->train.stages[s].length.list;
        for (int i = 0; i < list->count; i++)
            if (list->values[i] == (int64_t)length) stage = &config->train.stages[s];
    }
    return measure(config, &stage->task_options, model, engine, RNG_VALIDATE, length, evaluation);
}
