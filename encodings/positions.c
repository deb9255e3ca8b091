/* Where positions come from, beside any encoding (model.positions). */
#include "encodings/encoding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- plain: 0, 1, 2, … -------------------------------------------------------------------- */

static const Option no_options[] = {{0}};

static void draw_plain(const void *options, Rng *rng, size_t length, double *positions) {
    (void)options, (void)rng;
    for (size_t i = 0; i < length; i++) positions[i] = (double)i;
}

static double largest_plain(const void *options, size_t length) {
    (void)options;
    return (double)length - 1;
}

static const PositionSource plain = {
    .name = "plain",
    .summary = "0, 1, 2, ...",
    .source = "",
    .options = no_options,
    .draw = draw_plain,
    .largest = largest_plain,
};

/* ---- randomized: sorted, distinct integers below N (Ruoss et al. 2023, arXiv 2305.16843) ----- */

typedef struct {
    int64_t N;
} RandomizedOptions;

static const Option randomized_options[] = {
    {.name = "N", .type = OPTION_INTEGER, .offset = offsetof(RandomizedOptions, N),
     .fallback = 2048, .min = 1, .max = 1 << 20,
     .doc = "positions are drawn from 0 .. N-1; at least the longest length"},
    {0}};

/* Floyd's algorithm over a bit set would need memory by N; selection sampling (Knuth 3.4.2 S) needs
   none and gives them sorted. */
static void draw_randomized(const void *options, Rng *rng, size_t length, double *positions) {
    const size_t bound = (size_t)((const RandomizedOptions *)options)->N;
    size_t taken = 0;
    for (size_t value = 0; taken < length; value++)
        if (rng_below(rng, bound - value) < length - taken) positions[taken++] = (double)value;
}

static double largest_randomized(const void *options, size_t length) {
    (void)length;
    return (double)((const RandomizedOptions *)options)->N - 1;
}

static const char *refuse_randomized(const void *options, size_t length) {
    static char reason[120];
    const int64_t bound = ((const RandomizedOptions *)options)->N;
    if (length <= (size_t)bound) return NULL;
    snprintf(reason, sizeof reason,
             "randomized positions have N = %lld places, length %zu needs as many",
             (long long)bound, length);
    return reason;
}

static const PositionSource randomized = {
    .name = "randomized",
    .summary = "sorted, distinct integers drawn from 0 .. N-1, anew for each layer and sequence",
    .source = "Ruoss et al. 2023 (arXiv 2305.16843), who draw once a batch",
    .options = randomized_options,
    .options_size = sizeof(RandomizedOptions),
    .drawn = true,
    .draw = draw_randomized,
    .largest = largest_randomized,
    .refuse = refuse_randomized,
};

const PositionSource *const position_sources[] = {&plain, &randomized};
const size_t position_source_count = sizeof position_sources / sizeof *position_sources;

const PositionSource *position_source_find(const char *name) {
    for (size_t i = 0; i < position_source_count; i++)
        if (!strcmp(position_sources[i]->name, name)) return position_sources[i];
    return NULL;
}
