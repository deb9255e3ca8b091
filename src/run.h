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
    bool worker;          /* of a study, which is told with EXIT_BUSY of another owner */
    ColorChoice color;
} RunOptions;

/* Bytes of memory that a run needs, on so many threads; only those of training where these alone
   are more than the machine has. */
double run_bytes(const Config *config, int threads);

/* Trains, evaluates, writes; goes on from the newest checkpoint that verifies; says so when the run
   is complete. Returns the exit code. */
int run(const Config *config, const RunOptions *options);

typedef enum { RUN_NEW, RUN_STARTED, RUN_COMPLETE } RunStatus;

/* What lies in the folder of the run. Before the first OpenMP region: it verifies the result. */
RunStatus run_status(const Config *config, const char *output);

/* "process 12 on host" that works on the run now, in memory of the caller; NULL: nobody does. */
char *run_owner(const Config *config, const char *output);

/* Makes a folder and those above it; ends the program with EXIT_OUTPUT where it cannot. */
void run_make_folders(const char *path);

#endif
