/* rope's options, and what they make of them: frequencies and magnitudes (encodings/rope_scaling.c
   says the formulas). */
#ifndef ENCODINGS_ROPE_H
#define ENCODINGS_ROPE_H

#include "encodings/encoding.h"

typedef enum {
    ROPE_UNSCALED, ROPE_LINEAR, ROPE_NTK, ROPE_DYNAMIC, ROPE_YARN, ROPE_LLAMA3
} RopeScaling;
#define ROPE_SCALINGS "none|linear|ntk|dynamic|yarn|llama3"

typedef enum { ROPE_RAMP_PAPER, ROPE_RAMP_CODE } RopeRamp;

typedef struct {
    double base, fraction, turning;
    int layout, scaling, ramp; /* scaling: RopeScaling, ramp: RopeRamp */
    int64_t original_length;   /* 0: the trained length */
    double factor;             /* 0: not given */
    double beta_fast, beta_slow, attention_factor; /* yarn; attention_factor 0: its own */
    double low_factor, high_factor;                /* llama3 */
    const Function *frequency;                     /* instead of base; NULL: base decides */
} RopeOptions;

/* Channels of a head that are in pairs. */
size_t rope_width(const EncodingShape *shape);

/* Radians a token of pair 0 … rope_width / 2 - 1, in a sequence of `length` tokens: only dynamic
   scaling looks at the length. */
double rope_frequency(const EncodingShape *shape, size_t pair, double length);

/* What turned channels of q, and of k, are multiplied with. */
double rope_magnitude(const EncodingShape *shape);

/* NULL, or why these options of scaling are impossible (a clause that starts with the option). */
const char *rope_refuse_scaling(const EncodingShape *shape);

#endif
