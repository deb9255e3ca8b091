/* outcome: what a result file says of its run, as far as runs are compared. */
#ifndef SRC_OUTCOME_H
#define SRC_OUTCOME_H

#include "src/base.h"
#include "src/claim.h"
#include "src/lua/flatten.h"
#include "src/report/statistics.h"

/* Shares are 0 .. 1; NaN where the length is not defined. */
typedef struct {
    int64_t length, examples;
    char *undefined; /* why the model is not defined at this length; NULL: it is */
    double metric[METRICS];
    Interval interval[METRICS]; /* of this evaluation, 95 %: Wilson's of sequence accuracy, the
                                   file's of token accuracy, NaN of the loss */
} OutcomeLength;

typedef struct {
    char *path;
    char *name, *task, *encoding, *run_id, *config_sha256, *exit_reason;
    char *binary_sha256, *cpu; /* what made it, the last ones if it moved */
    int64_t moves;             /* how often it went on with another build or on another CPU */
    char *label; /* that its study gives to it and to others; NULL: none. Not read, whoever knows
                    it sets it */
    bool completed;
    int64_t seed, init_seed, data_seed;
    int64_t trained_length;  /* the longest length of training */
    int64_t shortest_length; /* and the shortest */
    FlatKeys keys;           /* its config */
    size_t length_count;
    OutcomeLength *lengths; /* ascending */
} Outcome;

/* Reads the file in a child, so before the first OpenMP region only (store/guard.h). NULL, or a
   sentence why it is no result (free). */
char *outcome_read(const char *path, Outcome *outcome);
void outcome_free(Outcome *outcome);

/* The row of that length, or NULL. */
const OutcomeLength *outcome_at(const Outcome *outcome, int64_t length);

#endif
