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

/* ---- drawn below N -------------------------------------------------------------------------- */

typedef struct {
    int64_t N;
} DrawnOptions;

static double bound_of(const void *options) {
    return (double)((const DrawnOptions *)options)->N;
}

static const Option drawn_options[] = {
    {.name = "N", .type = OPTION_INTEGER, .offset = offsetof(DrawnOptions, N),
     .fallback = 2048, .min = 1, .max = 1 << 20,
     .doc = "positions are drawn below N; at least the longest length"},
    {0}};

static double largest_whole(const void *options, size_t length) {
    (void)length;
    return bound_of(options) - 1;
}

static const char *refuse_longer(const void *options, size_t length) {
    static char reason[120];
    if ((double)length <= bound_of(options)) return NULL;
    snprintf(reason, sizeof reason, "N = %.0f places are fewer than %zu tokens", bound_of(options),
             length);
    return reason;
}

/* randomized: distinct integers. Floyd's algorithm over a bit set would need memory by N; selection
   sampling (Knuth 3.4.2 S) needs none and gives them sorted. */
static void draw_randomized(const void *options, Rng *rng, size_t length, double *positions) {
    const size_t bound = (size_t)bound_of(options);
    size_t taken = 0;
    for (size_t value = 0; taken < length; value++)
        if (rng_below(rng, bound - value) < length - taken) positions[taken++] = (double)value;
}

static const PositionSource randomized = {
    .name = "randomized",
    .summary = "sorted, distinct integers drawn from 0 .. N-1, anew for each layer and sequence",
    .source = "Ruoss et al. 2023 (arXiv 2305.16843), who draw once a batch",
    .options = drawn_options,
    .options_size = sizeof(DrawnOptions),
    .drawn = true,
    .draw = draw_randomized,
    .largest = largest_whole,
    .refuse = refuse_longer,
};

/* random_floats: uniform in [0, N), sorted. */
static void draw_floats(const void *options, Rng *rng, size_t length, double *positions) {
    for (size_t i = 0; i < length; i++) positions[i] = bound_of(options) * rng_uniform(rng);
    qsort(positions, length, sizeof *positions, compare_numbers);
}

static double largest_float(const void *options, size_t length) {
    (void)length;
    return bound_of(options);
}

static const PositionSource random_floats = {
    .name = "random_floats",
    .summary = "sorted real numbers drawn uniformly below N, anew for each layer and sequence",
    .source = "Shimizu et al. 2026 (arXiv 2602.14050)",
    .options = drawn_options,
    .options_size = sizeof(DrawnOptions),
    .drawn = true,
    .fractional = true,
    .draw = draw_floats,
    .largest = largest_float,
    .refuse = refuse_longer,
};

/* shifted: 0, 1, 2, … from a random start. */
static void draw_shifted(const void *options, Rng *rng, size_t length, double *positions) {
    const uint64_t starts = (uint64_t)bound_of(options) - length + 1;
    const double start = (double)rng_below(rng, starts);
    for (size_t i = 0; i < length; i++) positions[i] = start + (double)i;
}

static const PositionSource shifted = {
    .name = "shifted",
    .summary = "s, s+1, s+2, ... from a start drawn so that all stay below N",
    .source = "Zhou et al. 2023 (arXiv 2310.16028); Cho et al. 2024 (arXiv 2405.20671)",
    .options = drawn_options,
    .options_size = sizeof(DrawnOptions),
    .drawn = true,
    .draw = draw_shifted,
    .largest = largest_whole,
    .refuse = refuse_longer,
};

/* ---- custom: what a function of the config gives --------------------------------------------- */

/* Index 0 .. length-1; its numbers do not fall (the config is checked for it), so that the last is
   the largest. Without a function (in tests): plain. */
typedef struct {
    const Function *position;
} CustomOptions;

static const Option custom_options[] = {
    {.name = "position", .type = OPTION_FUNCTION, .offset = offsetof(CustomOptions, position),
     .words = "index|length", .min = 0, .max = 1 << 24,
     .doc = "position of a token by its index, from 0; it may be fractional, and may not fall from "
            "one token to the next"},
    {0}};

static void custom_ranges(size_t length, FunctionRange ranges[FUNCTION_ARGUMENTS]) {
    ranges[0] = (FunctionRange){0, length};
    ranges[1] = (FunctionRange){(double)length, 1};
}

/* The positions of the first `length` tokens, or NULL. */
static const double *custom_positions(const void *options, size_t length) {
    const Function *function = ((const CustomOptions *)options)->position;
    const FunctionTable *table = function ? function_table(function, length) : NULL;
    return table && length <= table->ranges[0].count ? table->values : NULL;
}

static const char *refuse_custom(const void *options, size_t length) {
    static char reason[160];
    const Function *function = ((const CustomOptions *)options)->position;
    if (!function || !function->count || custom_positions(options, length)) return NULL;
    snprintf(reason, sizeof reason,
             "custom positions are tabulated for the lengths of the config; evaluate.lengths=%zu "
             "adds this one",
             length);
    return reason;
}

static void draw_custom(const void *options, Rng *rng, size_t length, double *positions) {
    const double *known = custom_positions(options, length);
    if (known)
        memcpy(positions, known, length * sizeof *known);
    else
        draw_plain(options, rng, length, positions);
}

static double largest_custom(const void *options, size_t length) {
    const double *known = custom_positions(options, length);
    return known ? known[length - 1] : largest_plain(options, length);
}

static const PositionSource custom = {
    .name = "custom",
    .summary = "what a function of the config gives for each token",
    .source = "the function position of the config",
    .options = custom_options,
    .options_size = sizeof(CustomOptions),
    .draw = draw_custom,
    .largest = largest_custom,
    .refuse = refuse_custom,
    .ranges = custom_ranges,
};

const PositionSource *const position_sources[] = {&plain, &randomized, &random_floats, &shifted,
                                                  &custom};
const size_t position_source_count = sizeof position_sources / sizeof *position_sources;

const PositionSource *position_source_find(const char *name) {
    for (size_t i = 0; i < position_source_count; i++)
        if (!strcmp(position_sources[i]->name, name)) return position_sources[i];
    return NULL;
}
