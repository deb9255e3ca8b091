/* ./harness CONFIG.lua: one run. */
#include "src/command/command.h"

#include "src/lua/config.h"
#include "src/run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void command_usage(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("harness: ", stderr);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputs("; ./harness help lists what there is\n", stderr);
    exit(EXIT_USAGE);
}

Config command_config(const Command *command) {
    if (command->word_count != 1)
        command_usage("expected one config, got %d words", command->word_count);
    Config config;
    Mistakes mistakes;
    if (config_load(command->words[0], command->override_count, command->overrides, &config,
                    &mistakes)) {
        if (!config.model.causal && !strcmp(config.model.encoding->name, "nope"))
            warn("a bidirectional model without positions cannot tell one order of its tokens from "
                 "another (Haviv et al. 2022)");
        return config;
    }
    fputs(mistakes.text, stderr);
    exit(EXIT_USAGE);
}

int command_run(const Command *command) {
    Config config = command_config(command);
    const RunOptions options = {.output = command->output ? command->output : "results",
                                .command = command->line,
                                .fresh = command->fresh,
                                .quiet = command->quiet,
                                .json = command->json,
                                .color = command->color};
    const int code = run(&config, &options);
    config_free(&config);
    return code;
}
