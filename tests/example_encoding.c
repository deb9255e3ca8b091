/* A learned bias for each distance and head:

       score_ij = q_i · k_j / sqrt(d) + B[|i - j|, h]

   B[N, heads] is shared by all layers and starts at 0. There is no row for distances from N on:
   such lengths are not defined. A bidirectional model sees |i - j| alone and cannot tell left from
   right. */
#include "encodings/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    int64_t distances;
} DistanceTableOptions;

static const Option options[] = {
    {.name = "distances", .type = OPTION_INTEGER,
     .offset = offsetof(DistanceTableOptions, distances), .fallback = 0, .min = 0, .max = 1 << 24,
     .doc = "rows of the table; 0: the longest length of training"},
    {0}};

static size_t rows(const EncodingShape *shape) {
    return rows_wanted(shape, ((const DistanceTableOptions *)shape->options)->distances);
}

static int parameters(const EncodingShape *shape, EncodingParameter list[ENCODING_PARAMETERS]) {
    list[0] = (EncodingParameter){.name = "bias",
                                  .rank = 2,
                                  .dims = {rows(shape), (size_t)shape->heads},
                                  .shared = true,
                                  .counts_rows = true};
    return 1;
}

static const char *defined(const EncodingShape *shape, size_t length, double largest) {
    static char reason[120];
    if (largest < (double)rows(shape)) return NULL;
    snprintf(reason, sizeof reason, "distance_table has %zu distances, length %zu needs %.0f",
             rows(shape), length, largest + 1);
    return reason;
}

/* Where a distance is in the table. Forward passes run where `defined` says no, too. */
static size_t place(const Site *site, double distance) {
    const double last = (double)rows(site->shape) - 1;
    const size_t row = (size_t)fmin(fabs(distance), last);
    return row * (size_t)site->shape->heads + (size_t)site->head;
}

static void bias(const Site *site, size_t n, const double *distance, real *out) {
    for (size_t i = 0; i < n; i++) out[i] = site->parameters[0][place(site, distance[i])];
}

static void bias_backward(const Site *site, size_t n, const double *distance, const double *dout,
                          real *const *gradients) {
    for (size_t i = 0; i < n; i++) gradients[0][place(site, distance[i])] += (real)dout[i];
}

/* Training that goes on at a longer length: new distances start as the farthest known one. */
static void extend(const EncodingShape *from, const EncodingShape *to, int k, const real *old,
                   real *grown) {
    (void)k;
    const size_t heads = (size_t)to->heads;
    for (size_t row = 0; row < rows(to); row++)
        for (size_t head = 0; head < heads; head++)
            grown[row * heads + head] = old[least(row, rows(from) - 1) * heads + head];
}

static void tables(const EncodingShape *shape, const real *const *const *values, size_t length,
                   PositionTableSink sink, void *to) {
    (void)length;
    const size_t heads = (size_t)shape->heads, count = rows(shape) * heads;
    double *copy = ALLOCATE(count, double);
    for (size_t i = 0; i < count; i++) copy[i] = (double)values[0][0][i];
    sink(to, &(PositionTable){.name = "bias",
                              .rank = 2,
                              .dims = {rows(shape), heads},
                              .axes = {"distance", "head"},
                              .values = copy,
                              .kind = "learned",
                              .convention = "added to the score; distance = |query - key|",
                              .unit = "",
                              .counted = 0});
    free(copy);
}

const Encoding encoding_distance_table = {
    .name = "distance_table",
    .summary = "a learned bias for each distance and head, added to the scores",
    .source = "docs/adding-an-encoding.md",
    .options = options,
    .options_size = sizeof(DistanceTableOptions),
    .needs_whole_positions = true,
    .parameters = parameters,
    .defined = defined,
    .bias = bias,
    .bias_backward = bias_backward,
    .extend = extend,
    .tables = tables,
};
