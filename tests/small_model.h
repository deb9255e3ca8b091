/* Small models and batches for tests: every encoding, options from their tables. */
#ifndef TESTS_SMALL_MODEL_H
#define TESTS_SMALL_MODEL_H

#include "src/config.h"
#include "src/model/model.h"

/* What varies between tests; zero values give the defaults in brackets. */
typedef struct {
    const Encoding *encoding;     /* [nope] */
    const void *encoding_options; /* [defaults of its table] */
    const PositionSource *positions; /* [plain] */
    const void *position_options;
    int layers, heads, head_width, mlp, vocabulary; /* [2, 3, 4, 20, 7]; mlp -1: none */
    bool bias, tied, bidirectional;
    double dropout, init_std; /* init_std [0.3]: far from linear, so that errors show */
    size_t trained_length;    /* [1024] */
    int64_t seed;             /* [1] */
    const LinearOptions *linear; /* [softmax] */
} SmallModel;

typedef struct {
    Model *model;
    KindOptions encoding_options, position_options;
} SmallModelOwner;

/* The caller frees with small_model_free. */
SmallModelOwner *small_model_create(const SmallModel *wanted);
void small_model_free(SmallModelOwner *owner);

/* Sets a number, integer, boolean or choice (by index) of an option struct; the test fails where
   the table has no such option. */
void small_option(const Option *table, void *options, const char *name, double value);

/* A batch of random tokens and targets; two of three places are scored. Owned by the caller. */
typedef struct {
    Batch batch;
    int32_t *tokens, *targets;
    uint8_t *scored;
    double *positions;
    int32_t *segments;
    size_t scored_count;
    ModelOutput output;
} SmallBatch;

SmallBatch *small_batch_create(const Model *model, size_t items, size_t length, uint64_t seed);
void small_batch_free(SmallBatch *batch);

/* weight * sum of the scored losses of a forward pass, in double. */
double small_batch_loss(Engine *engine, const SmallBatch *batch, double weight);

#endif
