/* run: one run from its config to its result file. */
#ifndef SRC_RUN_H
#define SRC_RUN_H

#include "src/config.h"
#include "src/report/terminal.h"

typedef struct {
    const char *output;   /* --output, "results" */
    const char *command;  /* what goes on after a stop: the command line as given */
    bool fresh;           /* --fresh */
    bool quiet, json;     /* --quiet, --json */
    ColorChoice color;
} RunOptions;

/* Trains, evaluates, writes; goes on from the newest checkpoint that verifies; says so when the run
   is complete. Returns the exit code. */
int run(const Config *config, const RunOptions *options);

#endif
