/* ./harness forward: what a model computes, layer by layer, as arrays. No sampling, no dropout. */
#include "src/command/command.h"

#include "src/environment.h"
#include "src/examples.h"
#include "src/lua/config.h"
#include "src/start.h"
#include "src/store/guard.h"
#include "src/store/store.h"
#include "src/train.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double MOST_BYTES = 1 << 30; /* of a file */

#ifdef REAL_DOUBLE
static const StoreType REAL_TYPE = STORE_FLOAT64;
#else
static const StoreType REAL_TYPE = STORE_FLOAT32;
#endif

typedef struct {
    size_t items, length;
    int32_t *tokens, *segments; /* segments NULL: one */
    double *positions;          /* NULL: the model's own */
} Input;

static void free_input(Input *input) {
    free(input->tokens);
    free(input->positions);
    free(input->segments);
}

_Noreturn static void refuse(const char *path, const char *reason) {
    die(EXIT_FAILED, "%s: %s", path, reason);
}

/* Of a file that is open, for the reason that its reader gives. */
_Noreturn static void refuse_open(const char *path, StoreReader *reader) {
    char *reason = copy_text(store_reason(reader));
    store_close(reader);
    refuse(path, reason);
}

static void check_memory(const char *path, double bytes) {
    char needed[32], there[32];
    if (bytes > environment_memory())
        die(EXIT_USAGE, "%s: needs %s (%.0f bytes) of memory, this machine has %s", path,
            bytes_text(bytes, needed), bytes, bytes_text(environment_memory(), there));
}

/* ---- the model ------------------------------------------------------------------------------- */

static bool is_config(const char *path) {
    const size_t length = strlen(path);
    return length > 4 && !strcmp(path + length - 4, ".lua");
}

/* The config that a result was made with, under the overrides of the command line. */
static Config result_config(const Command *command, StoreReader *reader) {
    char *json = store_read_text(reader, "/config/resolved_json");
    char *lua = json ? store_read_text(reader, "/config/lua") : NULL;
    if (!lua) refuse_open(command->words[0], reader);
    Config config;
    Mistakes mistakes;
    const bool good = config_load_json(json, lua, command->words[0], command->override_count,
                                       command->overrides, &config, &mistakes);
    if (!good && command->override_count) {
        fputs(mistakes.text, stderr);
        leave(EXIT_USAGE);
    }
    if (!good)
        die(EXIT_FAILED, "%.*s (its config is not one of this program)",
            (int)strcspn(mistakes.text, "\n"), mistakes.text);
    free(json);
    free(lua);
    return config;
}

/* The values of the model's parameters; without a place for them, whether they are there. */
static void read_parameters(const Command *command, StoreReader *reader, const Model *model) {
    for (int i = 0; i < model->parameter_count; i++) {
        const Parameter *p = &model->parameters[i];
        char *path = format_text("/parameters/%s", p->name);
        const bool good =
            model->values
                ? store_read(reader, path, REAL_TYPE, p->rank, p->dims, model->values + p->offset)
                : store_has_shape(reader, path, p->rank, p->dims);
        if (!good) refuse_open(command->words[0], reader);
        free(path);
    }
}

/* The model of a result: nothing is allocated for a config whose arrays the file does not hold. */
static Model *result_model(const Command *command, StoreReader *reader, const Config *config) {
    const ModelShape shape = train_shape(config);
    Model *described = model_describe(&shape);
    read_parameters(command, reader, described);
    model_free(described);
    Model *model = model_create(&shape, config->init_seed);
    read_parameters(command, reader, model);
    return model;
}

/* The model of a config, as a run of it starts. */
static Model *config_model(const Config *config) {
    const ModelShape shape = train_shape(config);
    Model *described = model_describe(&shape);
    check_memory(config->path, (double)described->count * sizeof(real));
    model_free(described);
    Model *model = model_create(&shape, config->init_seed);
    const char *reason = start_read(config, model);
    if (reason) refuse(config->train.init_from, reason);
    return model;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static Input input_from_task(const Command *command, const Config *config) {
    const size_t items = command->count ? (size_t)command->count : 1;
    const size_t length = command->length ? (size_t)command->length : config_longest(config);
    const char *reason =
        config->task->refuse ? config->task->refuse(&config->task_options, length) : NULL;
    if (reason) command_usage("length %zu: %s %s", length, config->task->name, reason);
    Examples examples = examples_new(items * length);
    const char *failed = examples_fill(config->task, &config->task_options, config->data_seed,
                                       RNG_SHOW, 0, 0, items, length, &examples);
    if (failed) die(EXIT_FAILED, "%s", failed);
    Input input = {.items = items, .length = length};
    input.tokens = ALLOCATE(items * length, int32_t);
    memcpy(input.tokens, examples.tokens, items * length * sizeof(int32_t));
    examples_free(&examples);
    return input;
}

/* /tokens[item, position], and where they are given /positions and /segments of that shape. False
   with a reason at the reader. */
static bool read_input(StoreReader *reader, Input *input, const char **reason) {
    StoreType type;
    size_t dims[STORE_RANK];
    const int rank = store_shape(reader, "/tokens", &type, dims);
    *reason = store_reason(reader);
    if (rank < 0) return false;
    if (rank != 2 || !dims[0] || !dims[1]) *reason = "needs /tokens[item, position]";
    else if ((double)dims[0] * (double)dims[1] * sizeof(double) > MOST_BYTES)
        *reason = "has more tokens than fit into 1 GiB";
    if (*reason != store_reason(reader)) return false;
    const size_t count = dims[0] * dims[1];
    *input = (Input){.items = dims[0], .length = dims[1]};
    input->tokens = ALLOCATE(count, int32_t);
    if (!store_read(reader, "/tokens", STORE_INT32, 2, dims, input->tokens)) return false;
    if (store_exists(reader, "/positions")) {
        input->positions = ALLOCATE(count, double);
        if (!store_read(reader, "/positions", STORE_FLOAT64, 2, dims, input->positions))
            return false;
    }
    if (store_exists(reader, "/segments")) {
        input->segments = ALLOCATE(count, int32_t);
        if (!store_read(reader, "/segments", STORE_INT32, 2, dims, input->segments)) return false;
    }
    return true;
}

/* NULL, or why there is no input, in memory of the caller. */
static char *take_input(const char *path, Input *input) {
    *input = (Input){0};
    const char *reason;
    StoreReader *reader = store_open(path, &reason);
    char *wrong = reader && read_input(reader, input, &reason) ? NULL : copy_text(reason);
    store_close(reader);
    return wrong;
}

/* In a child: whether the file can be read without harm. */
static bool try_input(const void *path, FILE *to) {
    Input input;
    char *wrong = take_input(path, &input);
    const bool good = !wrong;
    if (wrong) fputs(wrong, to);
    free(wrong);
    free_input(&input);
    return good;
}

static Input input_from_file(const char *path) {
    Input input;
    const char *wrong = take_input(path, &input);
    if (wrong) refuse(path, wrong);
    return input;
}

static void check_input(const Command *command, const Model *model, const Input *input) {
    const char *what = command->tokens ? command->tokens : command->words[0];
    double largest = model->shape.positions->largest(model->shape.position_options, input->length);
    for (size_t i = 0; i < input->items * input->length; i++) {
        if (input->tokens[i] < 0 || input->tokens[i] >= model->shape.vocabulary)
            die(EXIT_FAILED, "%s: token %d is outside the vocabulary, 0 to %d", what,
                input->tokens[i], model->shape.vocabulary - 1);
        if (!input->positions) continue;
        if (!isfinite(input->positions[i]))
            die(EXIT_FAILED, "%s: position %g is not finite", what, input->positions[i]);
        if (model->shape.encoding->needs_whole_positions &&
            (input->positions[i] != floor(input->positions[i]) ||
             fabs(input->positions[i]) > WHOLE_MOST))
            die(EXIT_FAILED, "%s: %s needs whole positions from -%d to %d, and one is %.17g", what,
                model->shape.encoding->name, WHOLE_MOST, WHOLE_MOST, input->positions[i]);
        largest = i ? fmax(largest, input->positions[i]) : input->positions[i];
    }
    const Encoding *encoding = model->shape.encoding;
    const char *reason = input->positions && encoding->defined
                             ? encoding->defined(&model->encoding_shape, input->length, largest)
                             : model_defined(model, input->length);
    if (reason) die(EXIT_FAILED, "%s: not defined: %s", what, reason);
}

/* ---- output ---------------------------------------------------------------------------------- */

static void write_array(StoreWriter *writer, const char *path, const real *data, int rank,
                        const size_t *dims, const char *axes) {
    store_array(writer, path, REAL_TYPE, rank, dims, data, false);
    store_attribute_text(writer, path, "axes", axes);
}

static void write_layers(StoreWriter *writer, const Model *model, const Input *input,
                         const ModelDump *dump) {
    const size_t b = input->items, t = input->length, h = (size_t)model->shape.heads;
    const size_t d = (size_t)model->encoding_shape.head_width;
    const size_t w = (size_t)model->encoding_shape.qk_width;
    const struct {
        const char *name;
        real *const *data;
        size_t last;
        const char *axes;
    } arrays[] = {{"q", dump->q, w, "item,head,position,channel"},
                  {"k", dump->k, w, "item,head,position,channel"},
                  {"v", dump->v, d, "item,head,position,channel"},
                  {"score", dump->score, t, "item,head,query,key"},
                  {"probability", dump->probability, t, "item,head,query,key"}};
    for (int layer = 0; layer < model->shape.layers; layer++)
        for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
            if (!arrays[i].data[layer]) continue;
            char *path = format_text("/layer%d/%s", layer, arrays[i].name);
            write_array(writer, path, arrays[i].data[layer], 4,
                        (const size_t[]){b, h, t, arrays[i].last}, arrays[i].axes);
            free(path);
        }
}

/* Runs the model on the input and publishes everything that it computed. */
static int forward(const Command *command, const Config *config, Model *model) {
    Input input = command->tokens ? input_from_file(command->tokens)
                                        : input_from_task(command, config);
    check_input(command, model, &input);
    const size_t b = input.items, t = input.length, h = (size_t)model->shape.heads;
    const size_t d = (size_t)model->encoding_shape.head_width;
    const size_t w = (size_t)model->encoding_shape.qk_width;
    const size_t vocabulary = (size_t)model->shape.vocabulary;
    const double bytes =
        sizeof(real) * (double)b * (double)t *
        ((double)vocabulary + model->shape.layers * (double)h * (2.0 * w + d + 2.0 * (double)t));
    char text[32];
    if (bytes > MOST_BYTES)
        die(EXIT_USAGE, "forward would write %s, more than 1 GiB: fewer tokens (--length), please",
            bytes_text(bytes, text));
    const double work = engine_bytes_needed(model, b, t, false, environment_look().threads);
    check_memory(command->words[0], bytes + (double)model->count * sizeof(real) + work);

    ModelDump dump = {0};
    for (int layer = 0; layer < model->shape.layers; layer++) {
        dump.q[layer] = ALLOCATE(b * h * t * w, real);
        dump.k[layer] = ALLOCATE(b * h * t * w, real);
        dump.v[layer] = ALLOCATE(b * h * t * d, real);
        if (!model->shape.linear) dump.score[layer] = ALLOCATE(b * h * t * t, real);
        dump.probability[layer] = ALLOCATE(b * h * t * t, real);
    }
    ModelOutput output = {.logits = ALLOCATE(b * t * vocabulary, real), .dump = &dump};
    Engine *engine = engine_create(model);
    engine_forward(engine,
                   &(Batch){.items = b,
                            .length = t,
                            .tokens = input.tokens,
                            .positions = input.positions,
                            .segments = input.segments,
                            .seed = config->data_seed},
                   &output);

    StoreWriter *writer = store_create();
    store_attribute_text(writer, "/", "format", "posenc-forward");
    store_attribute_text(writer, "/", "format_version", STORE_FORMAT_VERSION);
    store_attribute_text(writer, "/", "encoding", config->model.encoding->name);
    store_attribute_text(writer, "/", "config_sha256", config->sha256);
    store_array(writer, "/tokens", STORE_INT32, 2, (const size_t[]){b, t}, input.tokens, false);
    store_attribute_text(writer, "/tokens", "axes", "item,position");
    const struct {
        const char *path;
        StoreType type;
        const void *data; /* NULL: not given */
    } given[] = {{"/positions", STORE_FLOAT64, input.positions},
                 {"/segments", STORE_INT32, input.segments}};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        if (!given[i].data) continue;
        store_array(writer, given[i].path, given[i].type, 2, (const size_t[]){b, t}, given[i].data,
                    false);
        store_attribute_text(writer, given[i].path, "axes", "item,position");
    }
    write_array(writer, "/logits", output.logits, 3, (const size_t[]){b, t, vocabulary},
                "item,position,token");
    write_layers(writer, model, &input, &dump);
    const char *path = command->out_file ? command->out_file : "forward.h5";
    const int error = store_publish(writer, path);
    if (error) die(EXIT_OUTPUT, "%s: %s", path, strerror(error));
    if (!command->quiet)
        printf("%s: %zu items of %zu tokens, %d layers, %s\n", path, b, t, model->shape.layers,
               bytes_text(bytes, text));

    engine_free(engine);
    for (int layer = 0; layer < model->shape.layers; layer++) {
        free(dump.q[layer]);
        free(dump.k[layer]);
        free(dump.v[layer]);
        free(dump.score[layer]);
        free(dump.probability[layer]);
    }
    free(output.logits);
    free_input(&input);
    return EXIT_DONE;
}

int command_forward(const Command *command) {
    if (command->word_count != 1) command_usage("forward: expected one result file or config");
    char *wrong = NULL;
    if (command->tokens && !guard_run(try_input, command->tokens, &wrong))
        refuse(command->tokens, wrong);
    free(wrong);
    Config config;
    Model *model;
    if (is_config(command->words[0])) {
        config = command_config(command);
        start_check(&config);
        model = config_model(&config);
    } else {
        const char *reason = store_verify(command->words[0]);
        StoreReader *reader = reason ? NULL : store_open(command->words[0], &reason);
        if (!reader) refuse(command->words[0], reason);
        config = result_config(command, reader);
        model = result_model(command, reader, &config);
        store_close(reader);
    }
    const int code = forward(command, &config, model);
    model_free(model);
    config_free(&config);
    return code;
}
