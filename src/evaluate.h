/* evaluate: how well a model answers at one length, on examples of their own stream: item i of
   length L comes from (data seed, RNG_EVALUATE, L, i), the same for every encoding and at every
   step of training. */
#ifndef SRC_EVALUATE_H
#define SRC_EVALUATE_H

#include "src/config.h"
#include "src/model/model.h"
#include "src/report/statistics.h"

enum { EVALUATE_POSITION_BINS = 256, EVALUATE_DISTANCE_BINS = 32 };

/* Scored tokens of a range of positions or distances; the bin starts at `from`. */
typedef struct {
    int64_t from, count;
    double accuracy, loss; /* NaN when count is 0 */
} EvaluateBin;

typedef struct {
    size_t length;
    char undefined[256]; /* why the model is not defined at this length; "" when it is */
    int64_t examples;
    double loss, token_accuracy, sequence_accuracy;
    Interval interval; /* 95 %, of token_accuracy, examples as clusters */
    double random, majority;
    size_t position_bins, distance_bins;
    EvaluateBin by_position[EVALUATE_POSITION_BINS];
    EvaluateBin by_distance[EVALUATE_DISTANCE_BINS];
} Evaluation;

/* Overwrites *evaluation. The task does not refuse the length. NULL, or one sentence that names the
   example that a function of the config could not make. */
const char *evaluate(const Config *config, const Model *model, Engine *engine, size_t length,
              Evaluation *evaluation);

/* The same in distribution: at the longest trained length, with the task as it was trained there,
   on examples of the stream RNG_VALIDATE. What chooses between settings (learning rates) looks at
   this and never at the lengths that are compared. */
const char *evaluate_validation(const Config *config, const Model *model, Engine *engine,
                         Evaluation *evaluation);

/* Sequences that a pass of evaluation takes at once: a function of the length alone. */
size_t evaluate_items(size_t length, int64_t examples);

#endif
