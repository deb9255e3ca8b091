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

/* The slope of weight * (sum of the scored losses) along its own gradient (or along the part of it
   that belongs to one parameter), from a central difference of that step. It is the norm of that
   gradient, which is written to *norm, when both are right. Restores the model's values. */
double selftest_slope(Model *model, const Batch *batch, double weight, double step,
                      const Parameter *only, double *norm);

#endif
