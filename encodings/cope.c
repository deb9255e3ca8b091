/* Contextual position encoding (Golovneva et al. 2024, arXiv 2405.18719), for causal models. A key
   is as far away as gates are open between it and the query:

       g_ij = sigmoid(q_i · k_j / sqrt(d)),  p_ij = min(g_ij + g_i,j+1 + … + g_ii, npos - 1)
       score_ij = q_i · k_j / sqrt(d) + q_i · e(p_ij)

   with e a table of npos rows, shared by the heads of a layer and zero at first; e of a fraction is
   interpolated between rows floor(p) and floor(p) + 1. (The listing of the paper says ceil(p): the
   same value, but no derivative where p is a whole number.) The sources differ in the scale of the
   second term: the listing of the paper and x-transformers take q as it is (scale = "content"),
   the authors' code divides it by sqrt(d) too (scale = "both").

   Positions of tokens are not used. The sum over keys runs from the query backwards, so tiles hand
   it on as a carry; in the backward pass the gradient of p runs the other way. */
#include "encodings/tile.h"

#include "src/gemm.h"

#include <stdlib.h>

enum { SCALE_BOTH, SCALE_CONTENT };

typedef struct {
    int64_t npos;
    int scale;
} CopeOptions;

static const Option options[] = {
    {.name = "npos", .type = OPTION_INTEGER, .offset = offsetof(CopeOptions, npos),
     .fallback = 64, .min = 1, .max = 1 << 16,
     .doc = "rows of the table; a count of npos - 1 or more is the last row"},
    {.name = "scale", .type = OPTION_CHOICE, .offset = offsetof(CopeOptions, scale),
     .words = "both|content",
     .doc = "what 1 / sqrt(d) multiplies: q·k and q·e (the authors' code), or q·k alone (the "
            "paper's listing, x-transformers)"},
    {0}};

static size_t rows_of_table(const EncodingShape *shape) {
    return (size_t)((const CopeOptions *)shape->options)->npos;
}

/* Columns of q · e: one more than the table has rows, with the last one twice, so that nothing
   changes from the last row on and its derivative is zero. */
static size_t logits(const EncodingShape *shape) {
    return round_up(rows_of_table(shape) + 1, GEMM_ROWS);
}
static int row_scratch(const EncodingShape *shape) { return (int)logits(shape); }

/* Of e beside q, which is multiplied by 1 / sqrt(d) already. */
static real factor(const EncodingShape *shape) {
    const bool content = ((const CopeOptions *)shape->options)->scale == SCALE_CONTENT;
    return (real)(content ? sqrt((double)shape->head_width) : 1);
}

static int parameters(const EncodingShape *shape, EncodingParameter list[ENCODING_PARAMETERS]) {
    list[0] = (EncodingParameter){
        .name = "table", .rank = 2, .dims = {rows_of_table(shape), (size_t)shape->head_width}};
    return 1;
}

/* ---- the table, as products want it: [logits, d] and its transpose [d, logits] ------------- */

static size_t slot_size(const EncodingShape *shape, size_t length) {
    (void)length;
    return logits(shape) * (size_t)shape->head_width;
}
static size_t prepared_size(const EncodingShape *shape, size_t length) {
    return 2 * slot_size(shape, length);
}

static void prepare(const Site *site, real *prepared) {
    const size_t d = (size_t)site->shape->head_width, n = rows_of_table(site->shape);
    const size_t columns = logits(site->shape);
    const real *table = site->parameters[0], by = factor(site->shape);
    for (size_t i = 0; i < n * d; i++) prepared[i] = by * table[i];
    memcpy(prepared + n * d, prepared + (n - 1) * d, d * sizeof(real));
    memset(prepared + (n + 1) * d, 0, (columns - n - 1) * d * sizeof(real));
    gemm_transpose(prepared + columns * d, columns, prepared, d, columns, d);
}

static void prepare_backward(const Site *site, const real *slot, real *const *gradients) {
    const size_t d = (size_t)site->shape->head_width, n = rows_of_table(site->shape);
    const real by = factor(site->shape);
    for (size_t i = 0; i < n * d; i++) gradients[0][i] += by * slot[i];
    for (size_t c = 0; c < d; c++) gradients[0][(n - 1) * d + c] += by * slot[n * d + c];
}

static void open(const Site *site, QueryBlock *block) {
    const size_t d = (size_t)site->shape->head_width, columns = logits(site->shape);
    gemm((size_t)block->rows, columns, d, block->q, d, site->prepared + columns * d, columns, 0,
         block->scratch, columns);
}

static void open_backward(const Site *site, QueryBlock *block, real *slot) {
    const size_t d = (size_t)site->shape->head_width, columns = logits(site->shape);
    const size_t rows = (size_t)block->rows;
    /* forward: logits = q · eᵀ */
    gemm(rows, d, columns, block->dscratch, columns, site->prepared, d, 1, block->dq, d);
    gemm_transposed(columns, d, rows, block->dscratch, columns, block->q, d, 1, slot, d);
}

/* ---- a tile -------------------------------------------------------------------------------- */

enum { GATE, FRACTION, ROW, PLANES }; /* planes of the tile's scratch */

/* The gates of a row and, chunk by chunk, their sums from the right; returns the sum of all. */
static double open_gates(const real *s, size_t seen, real *gate, real *sums) {
    double total = 0;
    for (size_t c = 0; c < seen; c += LANES) {
        const Lanes g = lanes_sigmoid(lanes_load(s + c)), sum = lanes_suffix(g);
        lanes_store(gate + c, g);
        lanes_store(sums + c, sum);
        total += (double)sum[0];
    }
    return total;
}

/* Sums of chunks → positions, as a row of the table and a fraction, in place of the sums. Whole
   numbers of the carry go to the row, so that the fraction stays exact in float. */
static double find_rows(double carry, size_t seen, real last, real *fraction, real *row) {
    for (size_t c = seen; c > 0;) {
        c -= LANES;
        const double whole = floor(carry);
        const Lanes sum = lanes_load(fraction + c), p = sum + (real)(carry - whole);
        const Lanes n = __builtin_convertvector(__builtin_convertvector(p, IntLanes), Lanes);
        const Lanes far = n + (real)whole, end = lanes_all(last);
        lanes_store(fraction + c, p - n);
        lanes_store(row + c, lanes_select(far < end, far, end));
        carry += (double)sum[0];
    }
    return carry;
}

static void score(const Site *site, QueryBlock *block, KeyTile *tile, real *s) {
    const size_t columns = logits(site->shape), stride = (size_t)tile->stride;
    const real last = (real)(rows_of_table(site->shape) - 1);
    for (size_t r = 0; r < (size_t)block->rows; r++, s += stride) {
        const size_t seen = tile_visible(block, tile, r), unseen = (size_t)tile->columns - seen;
        real *fraction = tile_plane(tile, FRACTION, r), *row = tile_plane(tile, ROW, r);
        const double total = open_gates(s, seen, tile_plane(tile, GATE, r), fraction);
        if (tile->again) block->carry[r] -= total;
        const double carry = find_rows(block->carry[r], seen, last, fraction, row);
        if (!tile->again) block->carry[r] = carry;
        memset(fraction + seen, 0, unseen * sizeof(real));
        memset(row + seen, 0, unseen * sizeof(real));

        const real *at = block->scratch + r * columns;
        int32_t n[TILE_COLUMNS];
        for (size_t c = 0; c < seen; c++) n[c] = (int32_t)row[c];
        for (size_t c = 0; c < seen; c += LANES) {
            const Lanes near = lanes_gather(at, n + c), far = lanes_gather(at + 1, n + c);
            lanes_store(s + c, lanes_load(s + c) + near + lanes_load(fraction + c) * (far - near));
        }
    }
}

/* Rows of one group take turns, since a row often adds to one logit again and again. */
enum { GROUP = 8 };

static void add_to_logits(const QueryBlock *block, const KeyTile *tile, size_t columns,
                          const real *ds) {
    const size_t stride = (size_t)tile->stride, rows = (size_t)block->rows;
    for (size_t r = 0; r < rows; r += GROUP) {
        const size_t many = least(rows - r, GROUP);
        const real *d = ds + r * stride, *fraction = tile_plane(tile, FRACTION, r);
        const real *row = tile_plane(tile, ROW, r);
        for (size_t c = 0; c < (size_t)tile->columns; c++)
            for (size_t i = 0; i < many; i++) {
                real *to = block->dscratch + (r + i) * columns + (size_t)row[i * stride + c];
                const real far = d[i * stride + c] * fraction[i * stride + c];
                to[0] += d[i * stride + c] - far;
                to[1] += far;
            }
    }
}

/* forward: s += e(p) with p_j = g_j + g_j+1 + …, so dg_j = dp_0 + … + dp_j. */
static void score_backward(const Site *site, QueryBlock *block, KeyTile *tile, real *ds,
                           real *slot) {
    (void)slot;
    const size_t columns = logits(site->shape), stride = (size_t)tile->stride;
    add_to_logits(block, tile, columns, ds);
    for (size_t r = 0; r < (size_t)block->rows; r++, ds += stride) {
        const size_t seen = tile_visible(block, tile, r);
        const real *gate = tile_plane(tile, GATE, r), *row = tile_plane(tile, ROW, r);
        const real *at = block->scratch + r * columns;
        int32_t n[TILE_COLUMNS];
        for (size_t c = 0; c < seen; c++) n[c] = (int32_t)row[c];
        double carry = block->dcarry[r];
        for (size_t c = 0; c < seen; c += LANES) {
            const Lanes slope = lanes_gather(at + 1, n + c) - lanes_gather(at, n + c);
            const Lanes sum = lanes_prefix(lanes_load(ds + c) * slope), g = lanes_load(gate + c);
            lanes_store(ds + c, lanes_load(ds + c) + (sum + (real)carry) * g * (1 - g));
            carry += (double)sum[LANES - 1];
        }
        block->dcarry[r] = carry;
    }
}

static void tables(const EncodingShape *shape, const real *const *const *values, size_t length,
                   PositionTableSink sink, void *to) {
    (void)length;
    const size_t layers = (size_t)shape->layers, d = (size_t)shape->head_width;
    const size_t count = rows_of_table(shape) * d;
    double *table = ALLOCATE(layers * count, double);
    for (size_t layer = 0; layer < layers; layer++)
        for (size_t i = 0; i < count; i++) table[layer * count + i] = (double)values[layer][0][i];
    sink(to, &(PositionTable){.name = "table",
                              .rank = 3,
                              .dims = {layers, rows_of_table(shape), d},
                              .axes = {"layer", "count", "channel"},
                              .values = table,
                              .kind = "learned",
                              .convention = "row p is for a key with p open gates from it to the "
                                            "query, both included",
                              .unit = "",
                              .counted = -1});
    free(table);
}

const Encoding encoding_cope = {
    .name = "cope",
    .summary = "counts open gates between key and query; q meets a learned vector of the count",
    .source = "Golovneva et al. 2024 (arXiv 2405.18719)",
    .options = options,
    .options_size = sizeof(CopeOptions),
    .needs_causal = "counts the open gates between a key and the query after it",
    .parameters = parameters,
    .prepared_size = prepared_size,
    .slot_size = slot_size,
    .row_scratch = row_scratch,
    .carries = 1,
    .score_scratch = PLANES,
    .prepare = prepare,
    .prepare_backward = prepare_backward,
    .open = open,
    .open_backward = open_backward,
    .score = score,
    .score_backward = score_backward,
    .tables = tables,
};
