/* ./harness data CONFIG.lua [-n N]: examples as a person reads them. */
#include "src/command/command.h"

#include "src/examples.h"

#include <stdio.h>

int command_data(const Command *command) {
    Config config = command_config(command);
    const size_t count = command->count ? (size_t)command->count : 3;
    const size_t length = command->length ? (size_t)command->length : config_longest(&config);
    const char *reason = config.task->refuse ? config.task->refuse(&config.task_options, length)
                                             : NULL;
    if (reason) command_usage("length %zu: %s %s", length, config.task->name, reason);
    Examples examples = examples_new(count * length);
    const char *failed = examples_fill(config.task, &config.task_options, config.data_seed,
                                       RNG_SHOW, 0, 0, count, length, &examples);
    if (failed) die(EXIT_FAILED, "%s", failed);
    examples_print(stdout, config.task, &config.task_options, &examples);
    examples_free(&examples);
    config_free(&config);
    return EXIT_DONE;
}
