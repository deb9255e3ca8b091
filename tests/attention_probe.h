/* Attention alone, as the engine computes it, on q, k and v that the test gives: how golden values
   of encodings are compared. One item, one layer. */
#ifndef TESTS_ATTENTION_PROBE_H
#define TESTS_ATTENTION_PROBE_H

#include "tests/small_model.h"

/* All arrays are the caller's; NULL outputs are not wanted. H heads of width d, T tokens, w the
   encoding's qk_width. */
typedef struct {
    size_t length;
    const double *q, *k, *v;    /* [H, T, d] before rotation and scale */
    const double *x;            /* [T, H * d] layer input, for encodings with gates; or NULL */
    const double *positions;    /* [T], or NULL for 0, 1, 2 ... */
    double *rotated_q, *rotated_k; /* [H, T, w] after rotation, before the scale */
    double *score;              /* [H, T, T] before softmax, -inf where not visible */
    double *probability;        /* [H, T, T] */
    double *o;                  /* [H, T, d] */
} AttentionProbe;

/* The model gives heads, encoding and its parameters (layer 0's). */
void attention_probe(Model *model, const AttentionProbe *probe);

/* The values of one of the model's parameters, by the end of its name ("table", "slope"). */
real *probe_parameter(Model *model, const char *name);

#endif
