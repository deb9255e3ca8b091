/* sweep: all runs of a study: which there are, which are done, the rest side by side in processes
   of their own, and what came out of it. */
#ifndef SRC_SWEEP_H
#define SRC_SWEEP_H

#include "src/report/terminal.h"
#include "src/study.h"

typedef struct {
    const char *output;  /* --output, "results" */
    const char *command; /* what goes on after a stop: the command line as given */
    int jobs;            /* --jobs; 0: as many as there are cores for */
    int threads;         /* of a run; 0: the cores shared out among the jobs */
    int index;           /* --index, from 1; 0: all */
    int shard, shards;   /* --shard I/N; 0: all */
    bool fresh, quiet, json, fail_fast;
    ColorChoice color;
    int word_count; /* the config and the overrides, as given */
    const char *const *words;
} SweepOptions;

/* Runs what is not complete, and prints the results. Returns the exit code: EXIT_AGAIN after a
   signal, EXIT_FAILED when a run failed. */
int sweep_run(Study *study, const SweepOptions *options);

/* One JSON line a run on stdout: {"index":1,"id":"rope-s1-3f9a2c","values":{"seed":"1",...},
   "path":...,"status":"complete"|"started"|"new"|"not defined", ...}. */
int sweep_plan(const Study *study, const SweepOptions *options);

/* A job script for the plan on stdout: "slurm" or "parallel". False: there is no such form. */
bool sweep_emit(const Study *study, const SweepOptions *options, const char *form);

#endif
