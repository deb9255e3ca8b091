/* record: everything that a run has measured so far, in arrays whose room the config implies. It
   becomes the result file, and it is part of every checkpoint, so that a run that was stopped ends
   with the same rows as one that was not. */
#ifndef SRC_RECORD_H
#define SRC_RECORD_H

#include "src/decay.h"
#include "src/environment.h"
#include "src/evaluate.h"
#include "src/events.h"
#include "src/store/checkpoint.h"
#include "src/store/result.h"
#include "src/train.h"

typedef struct {
    PositionTable table; /* values, name and texts are copies */
    int parameter;       /* whose update counts belong to axis 0; -1: none */
    double *snapshots;   /* [room, dims...] of a learned table, or NULL */
} RecordTable;

typedef struct {
    const Config *config;

    /* /train */
    size_t train_rows, train_room;
    int64_t *step, *tokens;
    double *loss, *accuracy, *learning_rate, *gradient_norm, *tokens_per_second, *seconds;

    /* /evaluate, [rows, lengths] */
    size_t evaluate_rows, evaluate_room, lengths;
    int64_t *evaluate_step, *examples;
    double *evaluate_loss, *token_accuracy, *sequence_accuracy, *low, *high;
    Evaluation *last; /* [lengths] the last evaluation, with its bins */

    ResultValidate validation; /* at the end of training */
    int64_t moves; /* how often the run went on with another build or on another CPU */

    /* /position */
    size_t table_count;
    RecordTable *tables;
    size_t snapshot_rows, snapshot_room;
    int64_t *snapshot_step;
} Record;

/* What the rows of a run need: bytes of memory, with those of a checkpoint, which is made in memory
   and looked at again before it is written, and of its file. With snapshots it draws the weights,
   because the encoding says which tables there are. */
typedef struct {
    double memory, file;
} RecordBytes;
RecordBytes record_bytes(const Config *config);

Record *record_create(const Config *config, const Model *model);
void record_free(Record *record);

void record_train(Record *record, const EventStep *row);
void record_evaluation(Record *record, int64_t step, const Evaluation *evaluations);
void record_validation(Record *record, const Evaluation *evaluation);
void record_snapshot(Record *record, const Model *model, int64_t step);

/* The arrays of a checkpoint: state of the trainer and all rows so far. The caller frees with
   record_checkpoint_free; `data` points into trainer and record (or into state, which must live as
   long). */
typedef struct {
    Checkpoint checkpoint;
    int64_t counters[1]; /* tokens */
    double sums[7];      /* seconds, flops, and the window since the last logged step */
} RecordState;

/* reading: dims of growing arrays are their room, as checkpoint_read wants them. */
void record_state(RecordState *state, Record *record, Trainer *trainer, bool reading);
/* After checkpoint_read: counts of rows, step and sums back into record and trainer. */
void record_restore(const RecordState *state, Record *record, Trainer *trainer);
void record_state_free(RecordState *state);

/* Writes run.h5, with the decay of scores where it was measured (or NULL). 0 or an errno. */
int record_write(Record *record, const Trainer *trainer, const Environment *environment,
                 const ScoreDecay *decay, bool completed, const char *exit_reason,
                 const char *path);

#endif
