/* Relative position representations (Shaw et al. 2018, arXiv 1803.02155, equations 3 and 4): keys
   and values get a learned vector by clipped distance,

       score_ij = q_i · (k_j + aK[r]) / sqrt(d),  o_i = sum_j p_ij (v_j + aV[r]),
       r = clip(j - i, -clip, clip)

   Row r + clip of the tables is for r, as in tensor2tensor: the distance is key minus query, so a
   causal model uses rows 0 … clip alone. The tables are shared by the heads of a layer. (RoFormer's
   equation 5 writes the same vectors inside W_k and W_v.)

   q meets the 2 clip + 1 rows once a query block; tiles pick. For values the probabilities of a row
   of the table are summed before they meet it. */
#include "encodings/tile.h"

#include "src/gemm.h"

#include <stdlib.h>

enum { KEY, VALUE };

typedef struct {
    int64_t clip;
    bool values;
    double init_std;
} ShawOptions;

static const Option options[] = {
    {.name = "clip", .type = OPTION_INTEGER, .offset = offsetof(ShawOptions, clip),
     .fallback = 16, .min = 0, .max = 1 << 12,
     .doc = "distances beyond it share the row of the last one (paper: 16; tensor2tensor: 20)"},
    {.name = "values", .type = OPTION_BOOLEAN, .offset = offsetof(ShawOptions, values),
     .fallback = 1, .doc = "a table for values too (the paper keeps it for translation)"},
    {.name = "init_std", .type = OPTION_NUMBER, .offset = offsetof(ShawOptions, init_std),
     .fallback = 0.05, .min = 0, .max = 10, .doc = "deviation of the rows' initial values"},
    {0}};

static const ShawOptions *options_of(const EncodingShape *shape) { return shape->options; }

static size_t rows_of_table(const EncodingShape *shape) {
    return 2 * (size_t)options_of(shape)->clip + 1;
}
static size_t padded_rows(const EncodingShape *shape) {
    return round_up(rows_of_table(shape), GEMM_ROWS);
}

static DistanceRows distances(const EncodingShape *shape) {
    const double clip = (double)options_of(shape)->clip;
    return (DistanceRows){.sign = -1, .before = clip, .after = clip};
}

static int parameters(const EncodingShape *shape, EncodingParameter list[ENCODING_PARAMETERS]) {
    const ShawOptions *o = options_of(shape);
    list[KEY] = (EncodingParameter){.name = "key",
                                    .rank = 2,
                                    .dims = {rows_of_table(shape), (size_t)shape->head_width},
                                    .deviation = o->init_std};
    list[VALUE] = list[KEY];
    list[VALUE].name = "value";
    return o->values ? 2 : 1;
}

/* ---- the tables, as products want them ------------------------------------------------------ */

/* A table [padded, d] and its transpose [d, padded], for keys and for values; the slot holds the
   gradients of both tables. */
static size_t table_reals(const EncodingShape *shape) {
    return padded_rows(shape) * (size_t)shape->head_width;
}
static size_t slot_size(const EncodingShape *shape, size_t length) {
    (void)length;
    return (options_of(shape)->values ? 2 : 1) * table_reals(shape);
}
static size_t prepared_size(const EncodingShape *shape, size_t length) {
    return 2 * slot_size(shape, length);
}
static const real *prepared_rows(const Site *site, int table) {
    return site->prepared + (size_t)table * 2 * table_reals(site->shape);
}
static const real *prepared_columns(const Site *site, int table) {
    return prepared_rows(site, table) + table_reals(site->shape);
}

static void prepare(const Site *site, real *prepared) {
    const size_t d = (size_t)site->shape->head_width, n = rows_of_table(site->shape);
    const size_t size = table_reals(site->shape), padded = padded_rows(site->shape);
    for (int table = KEY; table <= (options_of(site->shape)->values ? VALUE : KEY); table++) {
        memcpy(prepared, site->parameters[table], n * d * sizeof(real));
        memset(prepared + n * d, 0, (padded - n) * d * sizeof(real));
        gemm_transpose(prepared + size, padded, prepared, d, padded, d);
        prepared += 2 * size;
    }
}

static void prepare_backward(const Site *site, const real *slot, real *const *gradients) {
    const size_t count = rows_of_table(site->shape) * (size_t)site->shape->head_width;
    for (int table = KEY; table <= (options_of(site->shape)->values ? VALUE : KEY); table++) {
        for (size_t i = 0; i < count; i++) gradients[table][i] += slot[i];
        slot += table_reals(site->shape);
    }
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* The scratch of a block: q · aK, then room for the same number of columns, for values. */
static int row_scratch(const EncodingShape *shape) {
    return (int)(2 * padded_rows(shape));
}
static size_t row_stride(const EncodingShape *shape) { return (size_t)row_scratch(shape); }

static void open(const Site *site, QueryBlock *block) {
    const size_t d = (size_t)site->shape->head_width, columns = padded_rows(site->shape);
    gemm((size_t)block->rows, columns, d, block->q, d, prepared_columns(site, KEY), columns, 0,
         block->scratch, row_stride(site->shape));
}

static void open_backward(const Site *site, QueryBlock *block, real *slot) {
    const size_t d = (size_t)site->shape->head_width, columns = padded_rows(site->shape);
    const size_t stride = row_stride(site->shape), rows = (size_t)block->rows;
    /* forward: scratch = q · aKᵀ */
    gemm(rows, d, columns, block->dscratch, stride, prepared_rows(site, KEY), d, 1, block->dq, d);
    gemm_transposed(columns, d, rows, block->dscratch, stride, block->q, d, 1, slot, d);
}

static void score(const Site *site, QueryBlock *block, KeyTile *tile, real *s) {
    const DistanceRows by = distances(site->shape);
    const size_t stride = row_stride(site->shape), columns = (size_t)tile->columns;
    TileRows rows;
    tile_rows(&rows, &by, site, block, tile);
    for (size_t r = 0; r < (size_t)block->rows; r++)
        tile_gather(&rows, r, columns, block->scratch + r * stride, s + r * (size_t)tile->stride);
}

static void score_backward(const Site *site, QueryBlock *block, KeyTile *tile, real *ds,
                           real *slot) {
    (void)slot;
    const DistanceRows by = distances(site->shape);
    const size_t stride = row_stride(site->shape), columns = (size_t)tile->columns;
    TileRows rows;
    tile_rows(&rows, &by, site, block, tile);
    for (size_t r = 0; r < (size_t)block->rows; r++)
        tile_scatter(&rows, r, columns, ds + r * (size_t)tile->stride,
                     block->dscratch + r * stride);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The rows of the table that the tile meets, in whole groups of 16 from *from. */
static size_t rows_met(const TileRows *rows, size_t *from) {
    *from = rows->range.from / GEMM_ROWS * GEMM_ROWS;
    return round_up(rows->range.to + 1, GEMM_ROWS) - *from;
}
/* Probabilities by row of the table: columns from … from + count - 1 of the scratch's second
   half. */
static real *sum_by_row(const TileRows *rows, const QueryBlock *block, const KeyTile *tile,
                        size_t stride, const real *p, size_t from, size_t count) {
    real *sums = block->scratch + stride / 2;
    for (size_t r = 0; r < (size_t)block->rows; r++) {
        memset(sums + r * stride + from, 0, count * sizeof(real));
        tile_scatter(rows, r, (size_t)tile->columns, p + r * (size_t)tile->stride,
                     sums + r * stride);
    }
    return sums;
}

static void value(const Site *site, QueryBlock *block, KeyTile *tile, const real *p, real *o) {
    if (!options_of(site->shape)->values) return;
    const DistanceRows by = distances(site->shape);
    const size_t d = (size_t)site->shape->head_width, stride = row_stride(site->shape);
    TileRows rows;
    tile_rows(&rows, &by, site, block, tile);
    size_t from, count = rows_met(&rows, &from);
    const real *sums = sum_by_row(&rows, block, tile, stride, p, from, count);
    gemm((size_t)block->rows, d, count, sums + from, stride,
         prepared_rows(site, VALUE) + from * d, d, 1, o, d);
}

static void value_backward(const Site *site, QueryBlock *block, KeyTile *tile, const real *p,
                           const real *dout, real *dp, real *slot) {
    if (!options_of(site->shape)->values) return;
    const DistanceRows by = distances(site->shape);
    const size_t d = (size_t)site->shape->head_width, stride = row_stride(site->shape);
    const size_t n = (size_t)block->rows, all = padded_rows(site->shape);
    TileRows rows;
    tile_rows(&rows, &by, site, block, tile);
    size_t from, count = rows_met(&rows, &from);
    real *sums = sum_by_row(&rows, block, tile, stride, p, from, count);
    /* forward: o += sums · aV */
    gemm_transposed(count, d, n, sums + from, stride, dout, d, 1,
                    slot + table_reals(site->shape) + from * d, d);
    gemm(n, count, d, dout, d, prepared_columns(site, VALUE) + from, all, 0, sums + from, stride);
    for (size_t r = 0; r < n; r++)
        tile_gather(&rows, r, (size_t)tile->columns, sums + r * stride,
                    dp + r * (size_t)tile->stride);
}

static void tables(const EncodingShape *shape, const real *const *const *values, size_t length,
                   PositionTableSink sink, void *to) {
    (void)length;
    const size_t layers = (size_t)shape->layers, d = (size_t)shape->head_width;
    const size_t n = rows_of_table(shape), count = n * d;
    double *copy = ALLOCATE(layers * count, double);
    for (int table = KEY; table <= (options_of(shape)->values ? VALUE : KEY); table++) {
        for (size_t layer = 0; layer < layers; layer++)
            for (size_t i = 0; i < count; i++)
                copy[layer * count + i] = (double)values[layer][table][i];
        sink(to, &(PositionTable){.name = table == KEY ? "key" : "value",
                                  .rank = 3,
                                  .dims = {layers, n, d},
                                  .axes = {"layer", "distance", "channel"},
                                  .values = copy,
                                  .kind = "learned",
                                  .convention = "row r is for key position - query position = r - "
                                                "clip; the first and last for all beyond",
                                  .unit = "",
                                  .counted = -1});
    }
    free(copy);
}

const Encoding encoding_shaw = {
    .name = "shaw",
    .summary = "learned vectors by clipped distance, added to keys and to values",
    .source = "Shaw et al. 2018 (arXiv 1803.02155), equations 3 and 4",
    .options = options,
    .options_size = sizeof(ShawOptions),
    .needs_whole_positions = true,
    .parameters = parameters,
    .prepared_size = prepared_size,
    .slot_size = slot_size,
    .row_scratch = row_scratch,
    .prepare = prepare,
    .prepare_backward = prepare_backward,
    .open = open,
    .open_backward = open_backward,
    .score = score,
    .score_backward = score_backward,
    .value = value,
    .value_backward = value_backward,
    .tables = tables,
};
