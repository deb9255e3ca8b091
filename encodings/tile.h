/* tile: what the hooks of several encodings do with a tile of scores. */
#ifndef ENCODINGS_TILE_H
#define ENCODINGS_TILE_H

#include "encodings/encoding.h"
#include "src/simd.h"

/* Row r of plane n of the tile's scratch. */
static inline real *tile_plane(const KeyTile *tile, int n, size_t r) {
    return tile->scratch + ((size_t)n * TILE_ROWS + r) * (size_t)tile->stride;
}

/* In a causal model: the columns up to the query of row r, in whole vectors; those behind are
   masked. */
static inline size_t tile_visible(const QueryBlock *block, const KeyTile *tile, size_t r) {
    const size_t token = block->first + r;
    if (token < tile->first) return 0;
    return least(round_up(token - tile->first + 1, LANES), (size_t)tile->columns);
}

/* A table by clipped distance: distance x = query position - key position has row
   clip(sign * x, -before, after) + before, which `bucket` (or NULL) maps to another. */
typedef struct {
    double sign, before, after;
    const real *bucket;
} DistanceRows;

static inline int32_t distance_row(const DistanceRows *rows, double distance) {
    double x = rows->sign * distance;
    x = x > -rows->before ? x : -rows->before;
    x = x < rows->after ? x : rows->after;
    const int32_t row = (int32_t)(x + rows->before);
    return rows->bucket ? (int32_t)rows->bucket[row] : row;
}

/* The rows of keys first … first + count - 1, seen from a query. Keys that are not tokens (a tile
   has up to 15, all masked) get the row of the last one. */
static inline void distance_rows(const DistanceRows *rows, const Site *site, size_t query,
                                 size_t first, size_t count, int32_t *row) {
    const double at = site->positions[query], *keys = site->positions + first;
    const size_t tokens = least(count, site->length - first);
    if (rows->bucket)
        for (size_t c = 0; c < tokens; c++) row[c] = distance_row(rows, at - keys[c]);
    else {
        const DistanceRows plain = {rows->sign, rows->before, rows->after, NULL};
        for (size_t c = 0; c < tokens; c++) row[c] = distance_row(&plain, at - keys[c]);
    }
    for (size_t c = tokens; c < count; c++) row[c] = row[tokens - 1];
}

/* The least and greatest row between some queries and some keys. */
typedef struct {
    size_t from, to; /* both included */
} RowRange;

static inline RowRange distance_range(const DistanceRows *rows, const Site *site, size_t query,
                                      size_t queries, size_t key, size_t keys) {
    double least_query = site->positions[query], most_query = least_query;
    for (size_t i = query; i < least(query + queries, site->length); i++) {
        least_query = site->positions[i] < least_query ? site->positions[i] : least_query;
        most_query = site->positions[i] > most_query ? site->positions[i] : most_query;
    }
    double least_key = site->positions[key], most_key = least_key;
    for (size_t i = key; i < least(key + keys, site->length); i++) {
        least_key = site->positions[i] < least_key ? site->positions[i] : least_key;
        most_key = site->positions[i] > most_key ? site->positions[i] : most_key;
    }
    const size_t a = (size_t)distance_row(rows, least_query - most_key);
    const size_t b = (size_t)distance_row(rows, most_query - least_key);
    return (RowRange){least(a, b), most(a, b)};
}

/* to[row[c]] += from[c]. Far keys share a row: whole runs of 16 are summed first. count is a
   multiple of 16. */
static inline void add_by_row(real *to, const int32_t *row, const real *from, size_t count) {
    enum { RUN = 16 };
    for (size_t c = 0; c < count; c += RUN) {
        int32_t differs = 0;
        for (size_t i = 0; i < RUN; i++) differs |= row[c + i] ^ row[c];
        if (differs) {
            for (size_t i = 0; i < RUN; i++) to[row[c + i]] += from[c + i];
            continue;
        }
        Lanes sum = {0};
        for (size_t i = 0; i < RUN; i += LANES) sum += lanes_load(from + c + i);
        to[row[c]] += lanes_sum(sum);
    }
}

#endif
