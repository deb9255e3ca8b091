/* comparison: results in groups, and what their seeds say about the difference.

   Runs of different tasks are never compared: a block is a task. Within it, a group holds the runs
   that agree in the grouping keys, whatever their seeds. All statistics of a group are over seeds:
   one number for each, the mean over runs where a group has several of one seed. */
#ifndef SRC_COMPARISON_H
#define SRC_COMPARISON_H

#include "src/outcome.h"

typedef struct {
    int64_t seed, init_seed, data_seed;
} Replicate;

typedef struct {
    size_t block;
    const char **values; /* [key_count] of the grouping keys; NULL: has no such key */
    char *label;         /* "rope fraction=0.25": the values less the task, or the label that all
                            its runs have from their study */
    size_t run_count;
    size_t *runs; /* indices into outcomes */
} Group;

typedef struct {
    const char *task;
    size_t first, count; /* of its groups */
    size_t replicate_count;
    Replicate *replicates; /* ascending */
    size_t length_count;
    int64_t *lengths;                        /* evaluated by any of its runs, ascending */
    int64_t trained_length, shortest_length; /* of all its runs: the longest, the shortest */
} Block;

typedef struct {
    size_t outcome_count;
    Outcome *outcomes; /* complete, each run once */
    size_t key_count;
    char **keys; /* what the groups differ in, "task" first */
    size_t group_count;
    Group *groups; /* in the order of tasks, encodings, values */
    size_t block_count;
    Block *blocks;
    size_t note_count;
    char **notes; /* sentences that a reader of the numbers has to know */
} Comparison;

/* Takes over the outcomes. by: the grouping keys, "model.encoding,train.learning_rate", or NULL:
   the fewest keys that tell apart all runs that differ in more than their seeds. With `by`, labels
   of the study are left out. NULL, or a sentence when a key of `by` is in none of the results
   (free). */
char *comparison_make(Comparison *comparison, size_t count, Outcome *outcomes, const char *by);
void comparison_free(Comparison *comparison);

void comparison_note(Comparison *comparison, const char *format, ...) PRINTF_LIKE(2, 3);

/* What a run is worth as one number. */
typedef enum {
    QUANTITY_METRIC,  /* a metric at a length */
    QUANTITY_TRAINED, /* the least of the metric at the evaluated lengths within training */
    QUANTITY_AREA,    /* under the curve of a metric over log2(length), from the longest evaluated
                         length within training to the longest of all, divided by its width;
                         NaN where one of the two is not there */
    QUANTITY_LONGEST, /* the longest evaluated length with a share of COMPARISON_GOOD or more, there
                         and at all shorter ones; 0: none */
} QuantityKind;
#define COMPARISON_GOOD 0.9

typedef struct {
    QuantityKind kind;
    Metric metric;
    int64_t length; /* of QUANTITY_METRIC */
} Quantity;

/* One value for each replicate of the block, NaN where the group has none. */
void comparison_values(const Comparison *comparison, const Group *group, Quantity quantity,
                       double *values);

typedef struct {
    size_t n; /* seeds with a value */
    double mean, deviation;
    double least, middle, largest; /* middle: the median, the lower one of two */
    double evaluation; /* mean over runs of half the width of the evaluation's own 95 % interval;
                          NaN where there is none */
} GroupStatistics;

GroupStatistics comparison_statistics(const Comparison *comparison, const Group *group,
                                      Quantity quantity);

/* Of the mean, 95 %, over seeds; NaN for n = 1. *bootstrap: it is the bootstrap's
   (interval_shares), which takes 10,000 samples. */
Interval comparison_interval(const Comparison *comparison, const Group *group, Quantity quantity,
                             bool *bootstrap);

/* "34", "area", "longest >= 90 %", "trained lengths". */
char *quantity_name(Quantity quantity);
extern const char *const metric_words[METRICS];

/* Why the model of the group is not defined at the length, or NULL. */
const char *comparison_undefined(const Comparison *comparison, const Group *group, int64_t length);

typedef struct {
    size_t left, right; /* groups of one block, left before right */
    MeanTest test;      /* of left - right by seed, seeds that both have */
    double holm;        /* p adjusted over all pairs of the block */
    Interval interval;  /* excludes 0 exactly where holm <= 0.05 */
} Difference;

/* All pairs of a block; count: block->count * (block->count - 1) / 2. Memory of the caller. */
Difference *comparison_differences(const Comparison *comparison, const Block *block,
                                   Quantity quantity);

/* The interval of a mean that says what Holm's adjusted p says: at the confidence 1 - 0.05 p/holm
   it excludes 0 exactly where holm <= 0.05. */
Interval comparison_adjusted(size_t n, const double *values, double p, double holm);

#endif
