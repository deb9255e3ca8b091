#include "src/rng.h"

#include "src/base.h"

#include <math.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes" /* where it is no system header */
#include <Random123/philox.h>
#pragma GCC diagnostic pop

enum { WORDS = 4, STEP_BITS = 56, PURPOSE_BITS = 8 };

Rng rng_stream(int64_t seed, RngPurpose purpose, uint64_t step, uint64_t item) {
    CHECK(purpose >> PURPOSE_BITS == 0 && step >> STEP_BITS == 0 && item >> 32 == 0,
          "no stream (purpose %d, step %llu, item %llu): two names would share numbers",
          (int)purpose, (unsigned long long)step, (unsigned long long)item);
    uint64_t key = (uint64_t)seed;
    return (Rng){
        .key = {(uint32_t)key, (uint32_t)(key >> 32)},
        .counter = {0, (uint32_t)item, (uint32_t)step,
                    (uint32_t)(step >> 32) << PURPOSE_BITS | (uint32_t)purpose},
        .used = WORDS,
    };
}

RngPurpose rng_purpose(const Rng *rng) {
    return (RngPurpose)(rng->counter[3] & ((1u << PURPOSE_BITS) - 1));
}

uint32_t rng_bits(Rng *rng) {
    if (rng->used == WORDS) {
        philox4x32_ctr_t counter;
        philox4x32_key_t key;
        for (int i = 0; i < WORDS; i++) counter.v[i] = rng->counter[i];
        for (int i = 0; i < 2; i++) key.v[i] = rng->key[i];
        counter = philox4x32(counter, key); /* 10 rounds */
        for (int i = 0; i < WORDS; i++) rng->block[i] = counter.v[i];
        rng->counter[0]++;
        rng->used = 0;
    }
    return rng->block[rng->used++];
}

double rng_uniform(Rng *rng) {
    uint32_t high = rng_bits(rng) >> 5, low = rng_bits(rng) >> 6; /* 27 + 26 bits */
    return ((double)high * 0x1p26 + (double)low) * 0x1p-53;
}

uint64_t rng_below(Rng *rng, uint64_t bound) {
    CHECK(bound > 0, "nothing lies below 0");
    /* The lowest 2^64 mod bound draws are thrown away: what remains is a multiple of bound. */
    uint64_t surplus = -bound % bound, draw;
    do {
        uint64_t high = rng_bits(rng);
        draw = high << 32 | rng_bits(rng);
    } while (draw < surplus);
    return draw % bound;
}

double rng_normal(Rng *rng) {
    double radius = sqrt(-2 * log(1 - rng_uniform(rng))); /* the argument lies in (0, 1] */
    return radius * cos(2 * 3.14159265358979323846 * rng_uniform(rng));
}

void rng_shuffle(Rng *rng, int32_t *values, size_t count) {
    for (size_t left = count; left > 1; left--) {
        size_t pick = rng_below(rng, left);
        int32_t value = values[pick];
        values[pick] = values[left - 1];
        values[left - 1] = value;
    }
}

static bool contains(const int32_t *values, size_t count, int32_t value) {
    for (size_t i = 0; i < count; i++)
        if (values[i] == value) return true;
    return false;
}

void rng_choose(Rng *rng, size_t count, size_t bound, int32_t *values) {
    CHECK(count <= bound && bound <= INT32_MAX, "%zu different values of %zu", count, bound);
    /* Floyd's algorithm: every set is equally likely; needs no table of all `bound` values. */
    for (size_t i = 0; i < count; i++) {
        size_t largest = bound - count + i;
        int32_t value = (int32_t)rng_below(rng, largest + 1);
        values[i] = contains(values, i, value) ? (int32_t)largest : value;
    }
    rng_shuffle(rng, values, count);
}

uint64_t rng_hash(const char *text) {
    uint64_t hash = 0xcbf29ce484222325;
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
    return (hash >> STEP_BITS) ^ (hash & (((uint64_t)1 << STEP_BITS) - 1));
}
