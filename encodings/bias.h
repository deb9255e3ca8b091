/* bias: what encodings that add a function of the distance to the scores have in common: their
   tables. */
#ifndef ENCODINGS_BIAS_H
#define ENCODINGS_BIAS_H

#include "encodings/encoding.h"

#include <stdlib.h>

/* The k-th parameter, of `count` values, of the first `layers` layers; the caller frees it. */
static inline double *bias_parameter(const real *const *const *parameters, size_t layers, int k,
                                     size_t count) {
    double *copy = ALLOCATE(layers * count, double);
    for (size_t layer = 0; layer < layers; layer++)
        for (size_t i = 0; i < count; i++)
            copy[layer * count + i] = (double)parameters[layer][k][i];
    return copy;
}

typedef void (*BiasHook)(const Site *site, size_t n, const double *distance, real *out);

/* Table bias_by_distance: what the hook gives for distances 0 .. length - 1, by head, and by layer
   before that where layers differ. Parameters are NULL where nothing is learned. */
static inline void bias_by_distance(BiasHook bias, const EncodingShape *shape, bool layers_differ,
                                    const real *const *const *parameters, size_t length,
                                    PositionTableSink sink, void *to) {
    const size_t layers = layers_differ ? (size_t)shape->layers : 1, heads = (size_t)shape->heads;
    double *distance = ALLOCATE(length, double);
    double *values = ALLOCATE(layers * heads * length, double);
    real *row = ALLOCATE(length, real);
    for (size_t n = 0; n < length; n++) distance[n] = (double)n;
    for (size_t unit = 0; unit < layers * heads; unit++) {
        const Site site = {.shape = shape,
                           .length = length,
                           .layer = (int)(unit / heads),
                           .head = (int)(unit % heads),
                           .parameters = parameters ? parameters[unit / heads] : NULL};
        bias(&site, length, distance, row);
        for (size_t n = 0; n < length; n++) values[unit * length + n] = (double)row[n];
    }
    PositionTable table = {.name = "bias_by_distance",
                           .rank = 2,
                           .dims = {heads, length},
                           .axes = {"head", "distance"},
                           .values = values,
                           .kind = parameters ? "learned" : "fixed",
                           .convention = "added to the score; distance = query position - key "
                                         "position",
                           .unit = "",
                           .counted = -1};
    if (layers_differ) {
        table.rank = 3;
        table.dims[0] = layers, table.dims[1] = heads, table.dims[2] = length;
        table.axes[0] = "layer", table.axes[1] = "head", table.axes[2] = "distance";
    }
    sink(to, &table);
    free(distance);
    free(values);
    free(row);
}

#endif
