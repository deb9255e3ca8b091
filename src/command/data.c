/* ./harness data CONFIG.lua [-n N]: examples as a person reads them. With -o FILE.h5: what training
   starts from and sees, for other frameworks to do the same. */
#include "src/command/command.h"

#include "src/start.h"
#include "src/store/store.h"
#include "src/train.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double MOST_BYTES = 1 << 30; /* of a file */

static void print(const Command *command, const Config *config) {
    const size_t count = command->count ? (size_t)command->count : 3;
    const size_t length = command->length ? (size_t)command->length : config_longest(config);
    const char *reason =
        config->task->refuse ? config->task->refuse(&config->task_options, length) : NULL;
    if (reason) command_usage("length %zu: %s %s", length, config->task->name, reason);
    Examples examples = examples_new(count * length);
    const char *failed = examples_fill(config->task, &config->task_options, config->data_seed,
                                       RNG_SHOW, 0, 0, count, length, &examples);
    if (failed) die(EXIT_FAILED, "%s", failed);
    examples_print(stdout, config->task, &config->task_options, &examples);
    examples_free(&examples);
}

static void write_weights(StoreWriter *writer, const Model *model) {
    for (int i = 0; i < model->parameter_count; i++) {
        const Parameter *p = &model->parameters[i];
        char *path = format_text("/parameters/%s", p->name);
        store_array(writer, path, STORE_REAL, p->rank, p->dims, model->values + p->offset, false);
        free(path);
    }
}

/* /step1/tokens[item, position], /step1/targets, /step1/scored, … */
static void write_step(StoreWriter *writer, int64_t step, const Examples *examples) {
    const struct {
        const char *name;
        StoreType type;
        const void *data;
    } arrays[] = {{"tokens", STORE_INT32, examples->tokens},
                  {"targets", STORE_INT32, examples->targets},
                  {"scored", STORE_BOOLEAN, examples->scored}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        char *path = format_text("/step%lld/%s", (long long)step, arrays[i].name);
        store_array(writer, path, arrays[i].type, 2,
                    (const size_t[]){examples->items, examples->length}, arrays[i].data, false);
        store_attribute_text(writer, path, "axes", "item,position");
        free(path);
    }
}

static void write(const Command *command, const Config *config) {
    const int64_t steps = command->count ? command->count : 1;
    if (command->length) command_usage("data: -o writes the lengths of training, no --length");
    if (steps > config->train.total_steps)
        command_usage("-n: %lld steps are more than train.steps, %lld", (long long)steps,
                      (long long)config->train.total_steps);
    start_check(config);
    const ModelShape shape = train_shape(config);
    Model *model = model_create(&shape, config->init_seed);
    const char *reason = start_read(config, model);
    if (reason) die(EXIT_FAILED, "%s: %s", config->train.init_from, reason);

    StoreWriter *writer = store_create();
    store_attribute_text(writer, "/", "format", "posenc-start");
    store_attribute_text(writer, "/", "format_version", STORE_FORMAT_VERSION);
    store_attribute_text(writer, "/", "config_sha256", config->sha256);
    store_attribute_integer(writer, "/", "trained_length", (int64_t)config_longest(config));
    store_attribute_integer(writer, "/", "steps", steps);
    store_text(writer, "/config/resolved_json", config->resolved_json);
    write_weights(writer, model);
    double bytes = (double)model->count * sizeof(real);
    for (int64_t step = 1; step <= steps; step++) {
        size_t length, items;
        config_batch(config, step, &length, &items);
        bytes += (double)items * (double)length * (2 * sizeof(int32_t) + 1);
        char text[32];
        if (bytes > MOST_BYTES)
            die(EXIT_USAGE, "data would write %s and more, the limit is 1 GiB: fewer steps (-n)",
                bytes_text(bytes, text));
        Examples examples = examples_new(items * length);
        const Stage *stage = &config->train.stages[config_stage(config, step, NULL)];
        const char *failed =
            examples_fill(config->task, &stage->task_options, config->data_seed, RNG_TRAIN,
                          (uint64_t)step, 0, items, length, &examples);
        if (failed) die(EXIT_FAILED, "step %lld, %s", (long long)step, failed);
        write_step(writer, step, &examples);
        examples_free(&examples);
    }
    const int error = store_publish(writer, command->out_file);
    if (error) die(EXIT_OUTPUT, "%s: %s", command->out_file, strerror(error));
    if (!command->quiet)
        printf("%s: initial weights, %lld steps of training data\n", command->out_file,
               (long long)steps);
    model_free(model);
}

int command_data(const Command *command) {
    Config config = command_config(command);
    if (command->out_file) write(command, &config);
    else print(command, &config);
    config_free(&config);
    return EXIT_DONE;
}
