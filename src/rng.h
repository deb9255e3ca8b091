/* rng: counter-based random streams (Philox4x32-10 of Random123; Salmon et al. 2011, "Parallel
   random numbers: as easy as 1, 2, 3"). A stream is named by (seed, purpose, step, item): the same
   name gives the same numbers whatever the threads, the order of items, or an interruption.
   RNG_VERSION names the mapping; it changes when any number would. */
#ifndef SRC_RNG_H
#define SRC_RNG_H

#include <stddef.h>
#include <stdint.h>

#define RNG_VERSION "philox4x32-10/v1"

/* What a stream is for. Values are part of the mapping: append only. */
typedef enum {
    RNG_INIT = 1,     /* initial parameters; step = hash of the parameter's name */
    RNG_TRAIN = 2,    /* training examples */
    RNG_EVALUATE = 3, /* evaluation examples */
    RNG_SHOW = 4,     /* examples for `data` */
    RNG_LENGTH = 5,   /* the length of a batch */
    RNG_DROPOUT = 6,
    RNG_POSITION = 7, /* drawn positions */
    RNG_VALIDATE = 8, /* validation examples, for choosing between settings */
    RNG_TEST = 9,     /* unit tests */
    RNG_BOOTSTRAP = 10
} RngPurpose;

typedef struct {
    uint32_t key[2];     /* seed, low word first */
    uint32_t counter[4]; /* blocks drawn; item; step's low word; its high word << 8 | purpose */
    uint32_t block[4];
    int used; /* words of `block` already handed out */
} Rng;

/* The start of a stream of 2^34 words. step < 2^56, item < 2^32. */
Rng rng_stream(int64_t seed, RngPurpose purpose, uint64_t step, uint64_t item);

RngPurpose rng_purpose(const Rng *rng); /* what the stream is for */
uint32_t rng_bits(Rng *rng);
double rng_uniform(Rng *rng);                 /* [0, 1), 53 bits */
uint64_t rng_below(Rng *rng, uint64_t bound); /* 0 .. bound-1 without bias; bound > 0 */
double rng_normal(Rng *rng);                  /* mean 0, deviation 1 (Box-Muller) */
void rng_shuffle(Rng *rng, int32_t *values, size_t count);
/* `count` different values of 0 .. bound-1, in random order; count <= bound. */
void rng_choose(Rng *rng, size_t count, size_t bound, int32_t *values);

/* A hash of a text, for streams keyed by a name: it fits `step` (64-bit FNV-1a, its highest 8 bits
   folded into the lowest). */
uint64_t rng_hash(const char *text);

#endif
