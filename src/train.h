/* train: the state of training and one step of it. Everything that decides the next step is in
   this struct and in the config, so a checkpoint of it goes on bit for bit. */
#ifndef SRC_TRAIN_H
#define SRC_TRAIN_H

#include "src/config.h"
#include "src/examples.h"
#include "src/model/model.h"
#include "src/optim.h"

/* Sums over the steps since the last logged one. */
typedef struct {
    double loss; /* of all scored tokens */
    double scored, right, tokens, seconds;
} TrainWindow;

/* Seconds of all steps of this process, beside the engine's own phases. */
typedef struct {
    double data, optimizer;
} TrainTimes;

typedef struct {
    const Config *config;
    Model *model;
    Engine *engine;
    real *gradients, *moment1, *moment2; /* [model->count] */
    size_t group_count;
    OptimGroup *groups;
    Examples examples;
    ModelOutput output;
    int64_t **update_count; /* [parameter][rows], NULL where rows are not counted */

    /* the state beside the arrays */
    int64_t step; /* steps done */
    int64_t tokens;
    double seconds; /* of training */
    double flops;   /* useful ones */
    TrainWindow window;
    TrainTimes times;

    /* of the last step */
    double loss, accuracy, gradient_norm, learning_rate;
} Trainer;

/* The model that a config describes. */
ModelShape train_shape(const Config *config);

Trainer *train_create(const Config *config);
void train_free(Trainer *trainer);

/* Bytes that training and evaluation need, before anything is allocated. */
double train_bytes(const Config *config, int threads);

/* Useful FLOPs of all steps; from the mean of a million where more are drawn. */
double train_flops(const Config *config);

/* The next step. NULL, or one sentence that names the first tensor that is not finite, or the
   example that a function of the config could not make (the state is then not to be used). */
const char *train_step(Trainer *trainer);

#endif
