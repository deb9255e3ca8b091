/* What the engine computes, once more: in double, with plain loops over arrays of length x length,
   written from the formulas and sharing no code with src/. */
#ifndef TESTS_NAIVE_H
#define TESTS_NAIVE_H

#include "src/model/model.h"

/* One item and head. Arrays are the caller's; outputs that are NULL are not wanted. */
typedef struct {
    size_t length, width, value_width;
    const double *q, *k; /* [length, width], as scores see them */
    const double *v;     /* [length, value_width] */
    double scale;        /* of q · k */
    bool causal;
    size_t window;           /* a key is visible iff 0 <= distance < window; 0: no window */
    const double *positions; /* [length]; NULL: 0, 1, 2 ... */
    const int32_t *segments; /* [length], -1 is padding; NULL: one segment */
    double (*add)(const void *of, size_t i, size_t j, double distance); /* to a visible score */
    const void *of;
    double *score;       /* [length, length], -inf where not visible */
    double *probability; /* [length, length] */
    double *o;           /* [length, value_width] */
} NaiveAttention;

void naive_attention(const NaiveAttention *a);

/* weight * sum of the scored losses of a model of nope, sinusoidal, learned or rope with default
   options, with these values of its parameters, and logits[items * length, vocabulary] unless
   NULL. The batch's positions, segments and targets are used as engine_forward does. */
double naive_model(const Model *model, const double *values, const Batch *batch, double weight,
                   double *logits);

#endif
