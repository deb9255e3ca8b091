#include "src/decay.h"

#include "src/examples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t MOST_LENGTH = 2048; /* scores are stored for every pair while they are added */

double decay_bound(size_t pairs, const double *frequency, double distance) {
    double real_part = 0, imaginary = 0, sum = 0;
    for (size_t c = 0; c < pairs; c++) {
        real_part += cos(distance * frequency[c]);
        imaginary += sin(distance * frequency[c]);
        sum += hypot(real_part, imaginary);
    }
    return sum / (double)pairs;
}

/* Fills the bound from the encoding's table of frequencies. */
static void take_frequency(void *to, const PositionTable *table) {
    ScoreDecay *decay = to;
    if (strcmp(table->name, "frequency") != 0 || table->rank != 1 || decay->bound) return;
    decay->bound = ALLOCATE(decay->length, double);
    for (size_t distance = 0; distance < decay->length; distance++)
        decay->bound[distance] = decay_bound(table->dims[0], table->values, (double)distance);
}

static void add_scores(ScoreDecay *decay, const ModelDump *dump, size_t items) {
    const size_t length = decay->length;
    double *sum = ALLOCATE(length, double), *count = ALLOCATE(length, double);
    for (size_t layer = 0; layer < decay->layers; layer++)
        for (size_t head = 0; head < decay->heads; head++) {
            memset(sum, 0, length * sizeof *sum);
            memset(count, 0, length * sizeof *count);
            for (size_t item = 0; item < items; item++) {
                const real *score =
                    dump->score[layer] + (item * decay->heads + head) * length * length;
                for (size_t query = 0; query < length; query++)
                    for (size_t key = 0; key <= query; key++) {
                        const double s = (double)score[query * length + key];
                        if (!isfinite(s)) continue;
                        sum[query - key] += s;
                        count[query - key]++;
                    }
            }
            double *to = decay->score + (layer * decay->heads + head) * length;
            for (size_t distance = 0; distance < length; distance++)
                to[distance] = count[distance] > 0 ? sum[distance] / count[distance] : (double)NAN;
        }
    free(sum);
    free(count);
}

ScoreDecay decay_measure(const Config *config, const Model *model, Engine *engine) {
    ScoreDecay decay = {.layers = (size_t)model->shape.layers, .heads = (size_t)model->shape.heads};
    size_t length = config_longest(config);
    if (length > DECAY_LENGTH && !config->task->refuse(&config->task_options, DECAY_LENGTH))
        length = DECAY_LENGTH;
    if (model->shape.linear || length > MOST_LENGTH ||
        config->task->refuse(&config->task_options, length) || model_defined(model, length))
        return decay;
    Examples examples = examples_new(DECAY_EXAMPLES * length);
    if (examples_fill(config->task, &config->task_options, config->data_seed, RNG_EVALUATE, length,
                      0, DECAY_EXAMPLES, length, &examples)) {
        examples_free(&examples); /* a task of the config that cannot make this length */
        return decay;
    }
    decay.length = length;
    decay.score = ALLOCATE(decay.layers * decay.heads * length, double);

    ModelDump dump = {0};
    for (size_t layer = 0; layer < decay.layers; layer++)
        dump.score[layer] = ALLOCATE(DECAY_EXAMPLES * decay.heads * length * length, real);
    engine_forward(engine,
                   &(Batch){.items = DECAY_EXAMPLES,
                            .length = length,
                            .tokens = examples.tokens,
                            .seed = config->data_seed},
                   &(ModelOutput){.dump = &dump});
    add_scores(&decay, &dump, DECAY_EXAMPLES);
    examples_free(&examples);
    for (size_t layer = 0; layer < decay.layers; layer++) free(dump.score[layer]);

    if (model->shape.encoding->rotate) model_tables(model, length, take_frequency, &decay);
    return decay;
}

void decay_free(ScoreDecay *decay) {
    free(decay->score);
    free(decay->bound);
    *decay = (ScoreDecay){0};
}
