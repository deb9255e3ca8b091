/* Golden values of attention: cases that scripts/golden/ computed from papers or with other
   people's code, and the engine on the same inputs. */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include "tests/small_model.h"

enum { GOLDEN_HEADS = 2, GOLDEN_WIDTH = 8 }; /* of scripts/golden/inputs.py */

/* 0, 1, 2 …; whole numbers that jump; 1.37 times the token's number. */
typedef enum { POSITIONS_PLAIN, POSITIONS_GAPS, POSITIONS_FRACTIONS } GoldenPositions;

typedef struct {
    const char *encoding; /* of tested_find */
    const char *options;  /* "clip=3 values=false" */
    size_t length, stride;
    bool causal;
    GoldenPositions positions;
    const double *probability; /* [heads, length, length] or NULL */
    const double *o;           /* [heads, tokens 0, stride, 2 stride …, head width] */
} GoldenCase;

/* Options of an encoding from its defaults and a text like the above. */
KindOptions golden_options(const Encoding *encoding, const char *text);

/* Of order 1, without a pattern: sin(0.37 n^2 + seed). */
double golden_wave(int seed, size_t n);

/* One layer of the encoding, its n-th parameter set to golden_wave(11 + n, …), on golden q (seed
   1), k (2), v (3) and layer input (4). Positions NULL: 0, 1, 2 …. The result owns its arrays. */
typedef struct {
    SmallModelOwner *owner;
    size_t length, d;
    double *score, *probability; /* [heads, length, length] */
    double *o;                   /* [heads, length, d] */
} GoldenAttention;

/* Parameters are multiplied by `parameters`: 0 takes the encoding's terms away. */
GoldenAttention golden_attention(const char *encoding, const char *options, size_t length,
                                 bool causal, const double *positions, double parameters);
void golden_attention_free(GoldenAttention *attention);

/* Fails the test where scores, probabilities or outputs differ by more than `bound`. */
void golden_equal(const GoldenAttention *a, const GoldenAttention *b, double bound);

/* Fails the test where the engine and the case differ by more than TOLERANCE_ATTENTION. */
void golden_compare(const GoldenCase *c);

/* The double build's gradients over 290 tokens (two tiles of keys): positions that rise by one, and
   positions that jump; both ways too where that has a meaning. */
void golden_gradients(const char *encoding, const char *options);

#endif
