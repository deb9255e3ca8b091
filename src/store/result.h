/* result: a run as plain arrays, and its file run.h5. docs/FORMAT.md describes the file; layout.h
   holds its groups and columns as tables, which result_write fills and store_verify checks.

   Cells that are not defined or not measured are NaN (numbers) or 0 (counts). */
#ifndef SRC_STORE_RESULT_H
#define SRC_STORE_RESULT_H

#include "encodings/encoding.h"
#include "src/store/store.h"

/* /train: a row for each logged step, arrays [count]. */
typedef struct {
    size_t count;
    const int64_t *step;
    const int64_t *tokens; /* read so far */
    const double *loss, *accuracy, *learning_rate;
    const double *gradient_norm;     /* before clipping */
    const double *tokens_per_second; /* since the last logged step */
    const double *seconds;           /* of training so far */
} ResultTrain;

/* /evaluate: grids [steps, lengths] and columns [lengths]. */
typedef struct {
    size_t steps, lengths;
    const int64_t *step, *length;
    const double *loss, *token_accuracy, *sequence_accuracy;
    const double *token_accuracy_low, *token_accuracy_high; /* 95 % interval of token_accuracy */
    const int64_t *examples;
    const double *baseline_random, *baseline_majority; /* token accuracy of guessing */
    const uint8_t *defined;                            /* at the last evaluation */
    const char *const *reason;                         /* why not; NULL or "" where defined */
} ResultEvaluate;

/* /validate: attributes. Measured at the end of training; length 0: not measured, no group. */
typedef struct {
    int64_t length, examples;
    double loss, token_accuracy, sequence_accuracy;
} ResultValidate;

/* /evaluate/by_position/<length>, last evaluation: arrays [bins]. A bin goes from its position to
   the position of the next, exclusive; the last one to `length`. */
typedef struct {
    size_t length, bins;
    const int64_t *position;
    const double *token_accuracy, *loss;
    const int64_t *count; /* scored tokens */
} ResultByPosition;

/* /evaluate/by_distance/<length>: the same by how far back the answer lies. */
typedef struct {
    size_t length, bins;
    const int64_t *distance;
    const double *token_accuracy;
    const int64_t *count; /* scored tokens */
} ResultByDistance;

/* /position/<encoding>/<table>: the table as the encoding gives it at the end of training. */
typedef struct {
    PositionTable table;
    const int64_t *update_count; /* [dims[0]]: steps that gave the row a gradient; NULL: fixed */
    const double *snapshots;     /* [snapshots of the run, dims...]; NULL: none */
} ResultTable;

/* /decay: mean score before the softmax by distance, and the bound of rotary encodings. */
typedef struct {
    size_t layers, heads, length; /* length 0: not measured, no group */
    const double *score;          /* [layers, heads, length] */
    const double *bound;          /* [length], or NULL */
} ResultDecay;

/* /parameters/<name>: final weights. */
typedef struct {
    const char *name;
    int rank;
    size_t dims[STORE_RANK];
    const char *shape_names; /* "out,in" */
    const real *values;
} ResultParameter;

typedef struct {
    /* attributes of / */
    const char *name, *encoding, *task;
    const char *run_id, *config_sha256, *binary_sha256;
    const char *harness_version, *git_commit;
    bool git_dirty;
    const char *created_utc; /* "2025-11-30T12:00:00Z": differs between equal runs */
    bool completed;
    const char *exit_reason; /* "done", "stopped", … */
    int64_t moves; /* how often it went on with another build or on another CPU */
    int64_t seed;
    int64_t trained_length; /* the longest length of training */
    int64_t parameter_count;

    /* texts of /config */
    const char *lua, *resolved_json, *sources;
    const char *overrides; /* a line each */

    /* attributes of /environment; the version of HDF5 comes by itself */
    const char *cpu, *isa, *openmp, *blas, *compiler, *cflags, *lua_version, *os;
    const char *rng;       /* RNG_VERSION */
    const char *real_type; /* REAL_NAME */
    int64_t threads, init_seed, data_seed;

    ResultTrain train;
    ResultEvaluate evaluate;
    ResultValidate validate;
    size_t by_position_count, by_distance_count, table_count, array_count;
    const ResultByPosition *by_position;
    const ResultByDistance *by_distance;
    const ResultTable *tables;
    ResultDecay decay;
    size_t snapshot_count; /* snapshots of the learned tables over training */
    const int64_t *snapshot_step;
    const ResultParameter *arrays;
} ResultFile;

/* Writes the file in place of an older one. Returns 0, or an errno with the old file intact. */
int result_write(const ResultFile *result, const char *path);

/* Accuracy by length of a result file: the columns of /evaluate/final as numbers [count], and why a
   length is not defined ("" where it is). */
typedef struct {
    size_t count;
    double *length, *defined, *token_accuracy, *token_accuracy_low, *token_accuracy_high;
    double *sequence_accuracy, *loss, *examples, *baseline_random, *baseline_majority;
    int reasons;
    char **reason;
} ResultRows;

/* False, with a reason at the reader, when the file has no such columns. Either way
   result_free_rows releases them. */
bool result_read_rows(StoreReader *reader, ResultRows *rows);
void result_free_rows(ResultRows *rows);

#endif
