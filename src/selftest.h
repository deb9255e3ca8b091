/* selftest: what every encoding computes, checked within a second in the build that runs: logits
   of small models against PyTorch (src/selftest_vectors.h: docs/PYTORCH.md), published values of
   its tables, the gradient against a difference, the same bits for any number of threads, and what
   may not matter: later tokens, and where positions start, unless PyTorch says that it does. */
#ifndef SRC_SELFTEST_H
#define SRC_SELFTEST_H

#include "src/model/model.h"

typedef struct {
    int cases, failed;
    int moved;       /* cases in which logits depend on where positions start */
    char first[256]; /* what failed first */
} Selftest;

Selftest selftest_encoding(const Encoding *encoding);

/* The slope of a loss along a direction of length 1 that has nothing to do with the gradient. */
typedef struct {
    double found; /* a central difference */
    double said;  /* by the gradient */
    double usual; /* the norm of the gradient / sqrt(count): its root mean square over directions */
} Slope;

/* Of weight * (sum of the scored losses), by a difference of that step, along all parameters or
   those of one. Restores the model's values. */
Slope selftest_slope(Model *model, const Batch *batch, double weight, double step,
                     const Parameter *only);

#endif
