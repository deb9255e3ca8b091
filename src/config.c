#include "src/config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(field) offsetof(Config, field)

/* Most tokens of a sequence: 2^24. Whole numbers up to there are exact in float. */
#define LENGTH_MAX 16777216
/* Whole numbers up to 2^53 are exact in the doubles of Lua, JSON and HDF5 readers. */
#define SEED_MAX 9007199254740992.0

static const Option root_options[] = {
    /* name, type, field, default, its text, least, most, words, meaning */
    {"name", OPTION_STRING, FIELD(name), 0, "", 0, 0, NULL,
     "name of the run and of its folder of results; default: the file's name without .lua"},
    {"seed", OPTION_INTEGER, FIELD(seed), 1, NULL, 0, SEED_MAX, NULL,
     "seed of everything random that has no seed of its own"},
    {"init_seed", OPTION_INTEGER, FIELD(init_seed), -1, "seed", 0, SEED_MAX, NULL,
     "seed of the initial weights"},
    {"data_seed", OPTION_INTEGER, FIELD(data_seed), -1, "seed", 0, SEED_MAX, NULL,
     "seed of the examples and of the lengths of batches"},
    {.name = NULL},
};

static const Option model_options[] = {
    {"layers", OPTION_INTEGER, FIELD(model.layers), 2, NULL, 1, MODEL_LAYERS, NULL,
     "transformer blocks"},
    {"width", OPTION_INTEGER, FIELD(model.width), 128, NULL, 1, 1048576, NULL,
     "channels of the residual stream; a multiple of heads"},
    {"heads", OPTION_INTEGER, FIELD(model.heads), 4, NULL, 1, 1024, NULL,
     "attention heads of a block"},
    {"mlp", OPTION_INTEGER, FIELD(model.mlp), 4, NULL, 0, 64, NULL,
     "width of the MLP as a multiple of width; 0: attention only"},
    {"bias", OPTION_BOOLEAN, FIELD(model.bias), false, NULL, 0, 0, NULL,
     "biases in the linear layers and the norms"},
    {"tied", OPTION_BOOLEAN, FIELD(model.tied), false, NULL, 0, 0, NULL,
     "the output matrix is the token embedding"},
    {"causal", OPTION_BOOLEAN, FIELD(model.causal), true, NULL, 0, 0, NULL,
     "a token sees itself and those before it; false: it sees all (tasks with masked answers)"},
    {"dropout", OPTION_NUMBER, FIELD(model.dropout), 0, NULL, 0, 0.99, NULL,
     "share of channels dropped after the embedding, the attention output and the MLP"},
    {"init", OPTION_CHOICE, FIELD(model.init), 0, NULL, 0, 0, "normal|unit",
     "initial weights: normal, N(0, init_std^2); or unit, matrices N(0, 1/channels in), those that "
     "write to the residual stream divided by sqrt(2 layers), the embedding N(0, 1)"},
    {"init_std", OPTION_NUMBER, FIELD(model.init_std), 0.05, NULL, 1e-6, 10, NULL,
     "standard deviation of init = normal; it decides how soon content matching appears"},
    {.name = NULL},
};

static const Option train_options[] = {
    {"steps", OPTION_INTEGER, FIELD(train.steps), 0, "", 1, 1e9, NULL,
     "steps of a run without stages"},
    {"length", OPTION_SPAN, FIELD(train.length), 0, "", 1, LENGTH_MAX, NULL,
     "tokens of a sequence, of a run without stages; one length is drawn for each batch"},
    {"batch", OPTION_INTEGER, FIELD(train.batch), 0, NULL, 0, 1048576, NULL,
     "sequences a step; 0: tokens / length, at least 1"},
    {"tokens", OPTION_INTEGER, FIELD(train.tokens), 16384, NULL, 1, 2147483647, NULL,
     "tokens a step where batch is 0: the batch shrinks as length grows"},
    {"accumulate", OPTION_INTEGER, FIELD(train.accumulate), 1, NULL, 1, 1048576, NULL,
     "parts that a batch is cut into, one after the other, to save memory"},
    {"learning_rate", OPTION_SCHEDULE, FIELD(train.learning_rate), 1e-3, NULL, 0, 10, NULL,
     "peak learning rate; as a function of the step (from 1) it is used as it is"},
    {"decay", OPTION_CHOICE, FIELD(train.decay), DECAY_CONSTANT, NULL, 0, 0,
     "constant|cosine|linear",
     "course of the learning rate from the end of warmup to the last step"},
    {"final_rate", OPTION_NUMBER, FIELD(train.final_rate), 0, NULL, 0, 1, NULL,
     "learning rate at the end of the decay, as a share of the peak"},
    {"warmup", OPTION_INTEGER, FIELD(train.warmup), 50, NULL, 0, 1e9, NULL,
     "steps of linear warm-up at the start"},
    {"stage_warmup", OPTION_INTEGER, FIELD(train.stage_warmup), 20, NULL, 0, 1e9, NULL,
     "steps of linear warm-up at the start of each later stage"},
    {"weight_decay", OPTION_NUMBER, FIELD(train.weight_decay), 0.01, NULL, 0, 10, NULL,
     "AdamW's decay; norms, biases and tables of positions do not decay"},
    {"beta1", OPTION_NUMBER, FIELD(train.beta1), 0.9, NULL, 0, 0.999999, NULL,
     "AdamW's decay of the mean of the gradient"},
    {"beta2", OPTION_NUMBER, FIELD(train.beta2), 0.999, NULL, 0, 0.99999999, NULL,
     "AdamW's decay of the mean of its square"},
    {"epsilon", OPTION_NUMBER, FIELD(train.epsilon), 1e-8, NULL, 1e-16, 1, NULL,
     "AdamW's smallest divisor"},
    {"clip", OPTION_NUMBER, FIELD(train.clip), 1, NULL, 0, 1e9, NULL,
     "largest global norm of the gradient; 0: no clipping"},
    {"log_every", OPTION_INTEGER, FIELD(train.log_every), 10, NULL, 1, 1e9, NULL,
     "steps between rows of /train in the result"},
    {"checkpoint_every", OPTION_INTEGER, FIELD(train.checkpoint_every), 200, NULL, 0, 1e9, NULL,
     "steps between checkpoints; 0: only when stopped"},
    {"snapshot_every", OPTION_INTEGER, FIELD(train.snapshot_every), 0, NULL, 0, 1e9, NULL,
     "steps between snapshots of the learned tables of positions; 0: none"},
    {"init_from", OPTION_STRING, FIELD(train.init_from), 0, "", 0, 0, NULL,
     "result file (run.h5) whose weights training starts from; the optimizer starts anew"},
    {"init_sha256", OPTION_STRING, FIELD(train.init_sha256), 0, "", 0, 0, NULL,
     "SHA-256 of that file, which must have it; default: that of the file as it is"},
    {.name = NULL},
};

static const Option evaluate_options[] = {
    {"lengths", OPTION_INTEGERS, FIELD(evaluate.lengths), 0, "", 1, LENGTH_MAX, NULL,
     "lengths to evaluate at; default: the longest trained length"},
    {"examples", OPTION_INTEGER, FIELD(evaluate.examples), 64, NULL, 1, 1048576, NULL,
     "examples a length"},
    {"every", OPTION_INTEGER, FIELD(evaluate.every), 0, NULL, 0, 1e9, NULL,
     "steps between evaluations; 0: only at the end"},
    {.name = NULL},
};

const Option stage_options[] = {
    {"steps", OPTION_INTEGER, offsetof(Stage, steps), 0, "", 1, 1e9, NULL, "steps of the stage"},
    {"length", OPTION_SPAN, offsetof(Stage, length), 0, "", 1, LENGTH_MAX, NULL,
     "tokens of a sequence; one length is drawn for each batch"},
    {"batch", OPTION_INTEGER, offsetof(Stage, batch), -1, "train.batch", 0, 1048576, NULL,
     "sequences a step; 0: train.tokens / length, at least 1"},
    {.name = NULL},
};

const ConfigSection config_sections[CONFIG_SECTIONS] = {
    {"", "Top level", root_options},
    {"model", "a transformer: token embedding, pre-norm blocks, output",
     model_options},
    {"train", "AdamW on freshly drawn examples", train_options},
    {"evaluate", "measurements on examples of their own", evaluate_options},
};

/* A registry as a list of kinds that sets (pointer to entry, options) in the config. */
#define KIND_FUNCTIONS(prefix, registry, pointer, storage)                                         \
    static Kind prefix##_kind(size_t i) {                                                          \
        return (Kind){registry[i]->name, registry[i]->summary, registry[i]->source,                \
                      registry[i]->options, registry[i]->options_size};                            \
    }                                                                                              \
    static void prefix##_choose(Config *config, size_t i) {                                        \
        config->pointer = registry[i];                                                             \
        memset(&config->storage, 0, sizeof config->storage);                                       \
        option_defaults(registry[i]->options, &config->storage);                                   \
    }                                                                                              \
    static const char *prefix##_chosen(const Config *config) {                                     \
        return config->pointer ? config->pointer->name : NULL;                                     \
    }
KIND_FUNCTIONS(task, tasks, task, task_options)
KIND_FUNCTIONS(encoding, encodings, model.encoding, model.encoding_options)
KIND_FUNCTIONS(positions, position_sources, model.positions, model.position_options)
KIND_FUNCTIONS(attention, attentions, model.attention, model.attention_options)

const ConfigKind config_kinds[CONFIG_KINDS] = {
    {"", "task", NULL, "what is learned", FIELD(task_options), &tasks_count, task_kind, task_choose,
     task_chosen},
    {"model", "encoding", "nope", "how position enters the model", FIELD(model.encoding_options),
     &encoding_count, encoding_kind, encoding_choose, encoding_chosen},
    {"model", "positions", "plain", "which positions the tokens of an example get",
     FIELD(model.position_options), &position_source_count, positions_kind, positions_choose,
     positions_chosen},
    {"model", "attention", "softmax", "how tokens read each other",
     FIELD(model.attention_options), &attention_count, attention_kind, attention_choose,
     attention_chosen},
};

const ConfigKind *config_find_kind(const char *section, const char *name) {
    for (int k = 0; k < CONFIG_KINDS; k++)
        if (!strcmp(config_kinds[k].section, section) && !strcmp(config_kinds[k].name, name))
            return &config_kinds[k];
    return NULL;
}

int config_kind_index(const ConfigKind *kind, const char *name) {
    for (size_t i = 0; i < *kind->count; i++)
        if (!strcmp(kind->kind(i).name, name)) return (int)i;
    return -1;
}

const LinearOptions *config_linear(const Config *config) {
    return strcmp(config->model.attention->name, "linear")
               ? NULL
               : (const LinearOptions *)&config->model.attention_options;
}

void config_add_name(ConfigNames *names, const char *name) {
    CHECK(names->count < CONFIG_NAMES, "a table with more than %d keys", CONFIG_NAMES);
    names->list[names->count++] = name;
}

void config_add_options(ConfigNames *names, const Option *table) {
    for (const Option *option = table; option && option->name; option++)
        config_add_name(names, option->name);
}

ConfigNames config_section_names(const ConfigSection *section) {
    ConfigNames names = {0};
    config_add_options(&names, section->options);
    for (int k = 0; k < CONFIG_KINDS; k++)
        if (!strcmp(config_kinds[k].section, section->name))
            config_add_name(&names, config_kinds[k].name);
    for (int s = 1; section == config_sections && s < CONFIG_SECTIONS; s++)
        config_add_name(&names, config_sections[s].name);
    if (!strcmp(section->name, "train")) config_add_name(&names, "stages");
    return names;
}

void config_defaults(Config *config) {
    *config = (Config){0};
    for (int s = 0; s < CONFIG_SECTIONS; s++) option_defaults(config_sections[s].options, config);
    for (int k = 0; k < CONFIG_KINDS; k++) {
        const ConfigKind *kind = &config_kinds[k];
        int index = kind->fallback ? config_kind_index(kind, kind->fallback) : -1;
        if (index >= 0) kind->choose(config, (size_t)index);
    }
}

void config_free(Config *config) {
    for (int i = 0; i < config->file_count; i++) free((void *)config->files[i].bytes);
    if (config->script) config->free_script(config->script);
    free(config->train.schedule);
    free(config->path);
    free(config->lua);
    free(config->overrides);
    free(config->resolved_json);
    free(config->sources);
    free(config->sha256);
    free(config->id);
    *config = (Config){0};
}

int config_stage(const Config *config, int64_t step, int64_t *first) {
    int stage = 0;
    int64_t start = 1;
    while (stage + 1 < config->train.stage_count &&
           step >= start + config->train.stages[stage].steps)
        start += config->train.stages[stage++].steps;
    if (first) *first = start;
    return stage;
}

/* The share of a warm-up of `steps` that is reached at its n-th step (from 1). */
static double warm(int64_t n, int64_t steps) {
    return n < steps ? (double)n / (double)steps : 1;
}

double config_learning_rate(const Config *config, int64_t step) {
    if (config->train.schedule) return config->train.schedule[step - 1];
    int64_t first, warmup = config->train.warmup, total = config->train.total_steps;
    int stage = config_stage(config, step, &first);
    double rate = config->train.learning_rate * warm(step, warmup);
    if (stage > 0) rate *= warm(step - first + 1, config->train.stage_warmup);
    if (step <= warmup || config->train.decay == DECAY_CONSTANT) return rate;

    double progress = (double)(step - warmup) / (double)(total - warmup);
    double left =
        config->train.decay == DECAY_LINEAR ? 1 - progress : 0.5 + 0.5 * cos(M_PI * progress);
    return rate * (config->train.final_rate + (1 - config->train.final_rate) * left);
}

size_t config_longest(const Config *config) {
    int64_t longest = 0;
    for (int s = 0; s < config->train.stage_count; s++) {
        const IntegerList *list = &config->train.stages[s].length.list;
        for (int i = 0; i < list->count; i++)
            if (list->values[i] > longest) longest = list->values[i];
    }
    return (size_t)longest;
}

size_t config_batch_size(const Config *config, const Stage *stage, size_t length) {
    if (stage->batch) return (size_t)stage->batch;
    return most(1, (size_t)config->train.tokens / length);
}

void config_batch(const Config *config, int64_t step, size_t *length, size_t *batch) {
    const Stage *stage = &config->train.stages[config_stage(config, step, NULL)];
    const int64_t *values = stage->length.list.values;
    Rng rng = rng_stream(config->data_seed, RNG_LENGTH, (uint64_t)step, 0);
    if (stage->length.range)
        *length = (size_t)values[0] + rng_below(&rng, (uint64_t)(values[1] - values[0] + 1));
    else
        *length = (size_t)values[rng_below(&rng, (uint64_t)stage->length.list.count)];
    *batch = config_batch_size(config, stage, *length);
}
