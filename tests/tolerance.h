/* How far a result may lie from its exact reference: each bound once, with its reason. `real` is
   float (one rounding is 6e-8 of the value) or double (1.1e-16). Where the documents promise the
   same bits, tests compare bits and no bound is needed. */
#ifndef TESTS_TOLERANCE_H
#define TESTS_TOLERANCE_H

#include "src/base.h"

#ifdef REAL_DOUBLE
#define TOLERANCE(in_float, in_double) (in_double)
#else
#define TOLERANCE(in_float, in_double) (in_float)
#endif

/* One elementary function: what src/simd.h promises of lanes_exp2. */
#define TOLERANCE_EXP2 TOLERANCE(2e-7, 1e-15)

/* A short chain of operations on values of order 1 (a norm, a loss, sums over some tens of
   channels): some tens of roundings, most of which cancel. */
#define TOLERANCE_OP TOLERANCE(3e-6, 2e-14)

/* The same where the reference is a central difference, of step 1e-5 in double: its own error of
   1e-10 of the third derivative is what the double build shows. */
#define TOLERANCE_SLOPE TOLERANCE(2e-5, 2e-8)

/* A sum of n products of order 1, relative to the square root of n: roundings walk at random. */
#define TOLERANCE_PRODUCT TOLERANCE(3e-6, 5e-15)

/* A table computed in double and stored as real: half a unit in the last place, up to 1. */
#define TOLERANCE_TABLE TOLERANCE(6e-8, 1e-12)

/* Attention on q, k, v of order 1: scores up to about 10, whose roundings the exponential turns
   into relative ones of the probabilities. */
#define TOLERANCE_ATTENTION TOLERANCE(5e-6, 1e-13)

/* Logits of a small model of two layers (order 1), and directional derivatives of its loss,
   relative to the gradient's norm: what one needs of float training to be faithful. */
#define TOLERANCE_LOGITS   TOLERANCE(1e-5, 1e-12)
#define TOLERANCE_GRADIENT TOLERANCE(1e-4, 1e-7)

/* The same sum in another order: padding on the left, packing, parts of a batch. Stated in the
   documents as 1e-6; in the double build nothing but roundings is left. */
#define TOLERANCE_ORDER TOLERANCE(1e-6, 1e-13)

#endif
