/* buckets: distances as T5 divides them (Raffel et al. 2020, section 2.1, and its code).

   Causal, with n = query - key: the first half of the buckets holds one distance each, the second
   half grows with the logarithm up to `farthest`, from which on the last bucket holds everything.
   Keys after the query are in bucket 0. Bidirectional: the first half of the buckets is for keys up
   to the query, the second for those after it, each divided like this. */
#ifndef ENCODINGS_BUCKETS_H
#define ENCODINGS_BUCKETS_H

#include "encodings/encoding.h"

#include <math.h>
#include <stdio.h>

typedef struct {
    bool causal;
    int64_t count, farthest; /* of options "buckets" and "max_distance" */
} Buckets;

/* Buckets of one side, and those of them that hold a single distance. */
static inline int64_t buckets_side(const Buckets *b) { return b->count / (b->causal ? 1 : 2); }
static inline int64_t buckets_single(const Buckets *b) { return buckets_side(b) / 2; }

/* As `refuse` of an encoding with these options. */
static inline const char *buckets_refuse(const Buckets *b) {
    static char reason[160];
    if (!b->causal && (b->count % 2 || b->count < 4)) {
        snprintf(reason, sizeof reason,
                 "buckets = %lld: a bidirectional model needs an even number, at least 4",
                 (long long)b->count);
        return reason;
    }
    if (b->farthest > buckets_single(b)) return NULL;
    snprintf(reason, sizeof reason,
             "max_distance = %lld with buckets = %lld: it must be max_distance > buckets/%d = %lld",
             (long long)b->farthest, (long long)b->count, b->causal ? 2 : 4,
             (long long)buckets_single(b));
    return reason;
}

static inline size_t buckets_find(const Buckets *b, double distance) {
    const double buckets = (double)buckets_side(b), exact = (double)buckets_single(b);
    const size_t start = !b->causal && distance < 0 ? (size_t)buckets_side(b) : 0;
    const double n = b->causal ? fmax(distance, 0) : fabs(distance);
    if (n < exact) return start + (size_t)n;
    const double steps =
        floor(log(n / exact) / log((double)b->farthest / exact) * (buckets - exact));
    return start + (size_t)fmin(exact + steps, buckets - 1);
}

#endif
