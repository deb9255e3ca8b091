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

/* ---- tables by clipped distance ---------------------------------------------------------- */

/* Distance x = query position - key position, a whole number, has row
   clip(sign * x, -before, after) + before, which `bucket` (or NULL), never falling, maps on. */
typedef struct {
    double sign, before, after;
    const real *bucket;
} DistanceRows;

/* Rows, both included. */
typedef struct {
    size_t from, to;
} RowRange;

static inline RowRange row_range(const DistanceRows *by, double least_row, double most_row) {
    const double last = by->before + by->after;
    double from = least_row > 0 ? least_row : 0, to = most_row > 0 ? most_row : 0;
    from = from < last ? from : last;
    to = to < last ? to : last;
    if (!by->bucket) return (RowRange){(size_t)from, (size_t)to};
    return (RowRange){(size_t)by->bucket[(size_t)from], (size_t)by->bucket[(size_t)to]};
}

/* The rows between the queries of a block and the first `keys` keys. */
static inline RowRange block_range(const DistanceRows *by, const Site *site,
                                   const QueryBlock *block, size_t keys) {
    const double *q = site->positions + block->first, *k = site->positions;
    double least_query = q[0], most_query = q[0], least_key = k[0], most_key = k[0];
    for (int r = 1; r < block->rows; r++) {
        least_query = q[r] < least_query ? q[r] : least_query;
        most_query = q[r] > most_query ? q[r] : most_query;
    }
    for (size_t c = 1; c < keys; c++) {
        least_key = k[c] < least_key ? k[c] : least_key;
        most_key = k[c] > most_key ? k[c] : most_key;
    }
    const double a = by->sign * (least_query - most_key), b = by->sign * (most_query - least_key);
    return row_range(by, (a < b ? a : b) + by->before, (a < b ? b : a) + by->before);
}

/* The rows of one tile: query[r] - key[c], clipped to 0 … before + after, then mapped by `bucket`.
   Far from the diagonal a tile has one row for all its scores. */
typedef struct {
    DistanceRows by;
    RowRange range; /* of the tile */
    bool rising;    /* the positions of queries and of keys rise by one, and there are no buckets */
    int32_t least_query, most_query;
    int32_t query[TILE_ROWS], key[TILE_COLUMNS];
} TileRows;

/* A whole position beside another. */
static inline int32_t tile_offset(double position, double origin) {
    const double far = 2.0 * WHOLE_MOST, x = position - origin;
    return (int32_t)(x < -far ? -far : x > far ? far : x);
}

/* The rows of some columns. */
static inline RowRange tile_range(const TileRows *t, size_t first, size_t count) {
    int32_t least_key = t->key[first], most_key = least_key;
    for (size_t c = first; c < first + count; c++) {
        least_key = t->key[c] < least_key ? t->key[c] : least_key;
        most_key = t->key[c] > most_key ? t->key[c] : most_key;
    }
    return row_range(&t->by, t->least_query - most_key, t->most_query - least_key);
}

static inline void tile_rows(TileRows *t, const DistanceRows *by, const Site *site,
                             const QueryBlock *block, const KeyTile *tile) {
    const double *queries = site->positions + block->first, *keys = site->positions + tile->first;
    const int32_t sign = (int32_t)by->sign, before = (int32_t)by->before;
    *t = (TileRows){.by = *by};
    for (int r = 0; r < block->rows; r++)
        t->query[r] = sign * tile_offset(queries[r], queries[0]) + before;
    for (int c = 0; c < tile->keys; c++) t->key[c] = sign * tile_offset(keys[c], queries[0]);
    for (int c = tile->keys; c < tile->columns; c++) t->key[c] = t->key[c - 1] + sign;
    int32_t differs = by->bucket != NULL;
    for (int r = 1; r < block->rows; r++) differs |= (t->query[r] - t->query[r - 1]) ^ sign;
    for (int c = 1; c < tile->columns; c++) differs |= (t->key[c] - t->key[c - 1]) ^ sign;
    t->rising = !differs;
    t->least_query = t->most_query = t->query[0];
    for (int r = 1; r < block->rows; r++) {
        t->least_query = t->query[r] < t->least_query ? t->query[r] : t->least_query;
        t->most_query = t->query[r] > t->most_query ? t->query[r] : t->most_query;
    }
    t->range = tile_range(t, 0, (size_t)tile->columns);
}

/* row[c] for `count` columns from `first`, seen from row r of the block. */
static inline void tile_rows_of(const TileRows *t, size_t r, size_t first, size_t count,
                                int32_t *restrict row) {
    const int32_t query = t->query[r], last = (int32_t)(t->by.before + t->by.after);
    const int32_t *restrict key = t->key + first;
#pragma omp simd
    for (size_t c = 0; c < count; c++) {
        int32_t x = query - key[c];
        x = x > 0 ? x : 0;
        row[c] = x < last ? x : last;
    }
    if (!t->by.bucket) return;
    for (size_t c = 0; c < count; c++) row[c] = (int32_t)t->by.bucket[row[c]];
}

/* Where positions rise by one, the rows of columns start … end - 1 do so too (step 1), or fall,
   from that of column 0, `row`, which may lie outside; all before and all after have one each. */
typedef struct {
    size_t start, end;
    int32_t row, step, before, after;
} Slope;

static inline Slope tile_slope(const TileRows *t, size_t r, size_t columns) {
    const int32_t last = (int32_t)(t->by.before + t->by.after), n = (int32_t)columns;
    const int32_t row = t->query[r] - t->key[0], step = t->by.sign > 0 ? -1 : 1;
    const int32_t start = step > 0 ? -row : row - last, end = start + last + 1;
    return (Slope){.start = (size_t)(start < 0 ? 0 : start > n ? n : start),
                   .end = (size_t)(end < 0 ? 0 : end > n ? n : end),
                   .row = row,
                   .step = step,
                   .before = step > 0 ? 0 : last,
                   .after = step > 0 ? last : 0};
}

static inline size_t slope_row(const Slope *slope, size_t column) {
    return (size_t)(slope->row + slope->step * (int32_t)column);
}

/* to[c] += from[c], or from[-c] with step -1. */
static inline void tile_add(int32_t step, size_t count, const real *restrict from,
                            real *restrict to) {
    size_t c = 0;
    if (step > 0) {
        for (; c < count; c++) to[c] += from[c];
        return;
    }
    for (; c + LANES <= count; c += LANES)
        lanes_store(to + c, lanes_load(to + c) + lanes_reverse(lanes_load(from - c - (LANES - 1))));
    for (; c < count; c++) to[c] += from[-(ptrdiff_t)c];
}

/* to[c] += from[row of c] */
static inline void tile_gather(const TileRows *t, size_t r, size_t columns,
                               const real *restrict from, real *restrict to) {
    if (t->rising) {
        const Slope slope = tile_slope(t, r, columns);
        for (size_t c = 0; c < slope.start; c++) to[c] += from[slope.before];
        if (slope.start < slope.end)
            tile_add(slope.step, slope.end - slope.start, from + slope_row(&slope, slope.start),
                     to + slope.start);
        for (size_t c = slope.end; c < columns; c++) to[c] += from[slope.after];
        return;
    }
    int32_t row[TILE_COLUMNS];
    tile_rows_of(t, r, 0, columns, row);
    for (size_t c = 0; c < columns; c += LANES)
        lanes_store(to + c, lanes_load(to + c) + lanes_gather(from, row + c));
}

/* Columns start … end - 1. Each has its lane whatever the end, so masked keys behind a sequence
   change no bit. */
static inline real tile_sum(const real *from, size_t start, size_t end) {
    Lanes sum = {0};
    size_t c = start;
    for (; c + LANES <= end; c += LANES) sum += lanes_load(from + c);
    if (c < end) sum += lanes_load_part(from + c, end - c, 0);
    return lanes_sum(sum);
}

/* to[row of c] += from[c] */
static inline void tile_scatter(const TileRows *t, size_t r, size_t columns,
                                const real *restrict from, real *restrict to) {
    if (t->rising) {
        const Slope slope = tile_slope(t, r, columns);
        to[slope.before] += tile_sum(from, 0, slope.start);
        if (slope.start < slope.end) { /* with step -1: from the last column on */
            const size_t first = slope.step > 0 ? slope.start : slope.end - 1;
            tile_add(slope.step, slope.end - slope.start, from + first,
                     to + slope_row(&slope, first));
        }
        to[slope.after] += tile_sum(from, slope.end, columns);
        return;
    }
    /* Far keys share a row: whole runs of 16 are summed first. */
    enum { RUN = 16 };
    int32_t row[TILE_COLUMNS];
    tile_rows_of(t, r, 0, columns, row);
    for (size_t c = 0; c < columns; c += RUN) {
        int32_t differs = 0;
        for (size_t i = 0; i < RUN; i++) differs |= row[c + i] ^ row[c];
        if (differs)
            for (size_t i = 0; i < RUN; i++) to[row[c + i]] += from[c + i];
        else
            to[row[c]] += tile_sum(from, c, c + RUN);
    }
}

#endif
