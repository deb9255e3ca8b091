/* ./harness CONFIG.lua: one run, or all runs of a study. */
#include "src/command/command.h"

#include "src/lua/config.h"
#include "src/run.h"
#include "src/sweep.h"

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
    leave(EXIT_USAGE);
}

Study command_study(const Command *command) {
    if (command->word_count != 1)
        command_usage("expected one config, got %d words", command->word_count);
    Study study;
    Mistakes mistakes;
    const int index = command->emit ? 0 : command->index; /* a job script is about all */
    if (study_load(command->words[0], index, command->override_count, command->overrides, &study,
                   &mistakes))
        return study;
    fputs(mistakes.text, stderr);
    leave(EXIT_USAGE);
}

/* Whether --index is that of a run. */
static void check_index(const Study *study, int index) {
    if (index > study->cell_count)
        command_usage("--index %d: %s has %d runs", index, study->path, study->cell_count);
}

static void warn_of(const Config *config) {
    if (!config->model.causal && !strcmp(config->model.encoding->name, "nope"))
        warn("a bidirectional model without positions cannot tell one order of its tokens from "
             "another (Haviv et al. 2022)");
}

Config command_take(const Command *command, Study *study) {
    check_index(study, command->index);
    if (study->cell_count > 1 && !command->index)
        command_usage("%s has %d runs; --index says which one is meant (--plan lists them)",
                      study->path, study->cell_count);
    const int cell = command->index ? command->index - 1 : 0;
    if (study->cells[cell].undefined) {
        fprintf(stderr, "not defined: %s\n", study->cells[cell].undefined);
        leave(EXIT_USAGE);
    }
    Config config = study_take(study, cell);
    study_free(study);
    warn_of(&config);
    return config;
}

Config command_config(const Command *command) {
    Study study = command_study(command);
    return command_take(command, &study);
}

/* One run in this process. */
static int run_one(const Command *command, Study *study, int cell) {
    const StudyCell *chosen = &study->cells[cell];
    if (chosen->undefined) { /* a result too: an array of jobs goes on */
        fprintf(stderr, "run %d is not defined: %s: %s\n", cell + 1, chosen->text,
                chosen->undefined);
        return EXIT_DONE;
    }
    if (command->expect && strcmp(command->expect, chosen->config.sha256) != 0)
        die(EXIT_FAILED, "%s has changed since the study was started", study->path);
    Config config = study_take(study, cell);
    warn_of(&config);
    const RunOptions options = {.output = command->output ? command->output : "results",
                                .command = command->line,
                                .fresh = command->fresh,
                                .quiet = command->quiet,
                                .json = command->json,
                                .worker = command->expect,
                                .color = command->color};
    const int code = run(&config, &options);
    config_free(&config);
    return code;
}

int command_run(const Command *command) {
    Study study = command_study(command);
    check_index(&study, command->index);
    const char *words[COMMAND_WORDS + 1] = {command->words[0]};
    for (int i = 0; i < command->override_count; i++) words[i + 1] = command->overrides[i];
    const SweepOptions options = {.output = command->output ? command->output : "results",
                                  .command = command->line,
                                  .jobs = command->jobs,
                                  .threads = command->threads,
                                  .index = command->index,
                                  .shard = command->shard,
                                  .shards = command->shards,
                                  .fresh = command->fresh,
                                  .quiet = command->quiet,
                                  .json = command->json,
                                  .fail_fast = command->fail_fast,
                                  .color = command->color,
                                  .word_count = command->override_count + 1,
                                  .words = words};
    int code;
    if (command->plan) code = sweep_plan(&study, &options);
    else if (command->emit && sweep_emit(&study, &options, command->emit))
        code = EXIT_DONE;
    else if (command->emit)
        command_usage("--emit: expected slurm or parallel, got \"%s\"", command->emit);
    else if (command->index) code = run_one(command, &study, command->index - 1);
    else if (study.sweep && study.cell_count == 1) code = run_one(command, &study, 0);
    else code = sweep_run(&study, &options);
    study_free(&study);
    return code;
}
