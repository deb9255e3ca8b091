/* Relative attention of Transformer-XL (Dai et al. 2019, arXiv 1901.02860, section 3.3):

       score_ij = ((q_i + u) · k_j + (q_i + v) · W r_(i-j)) / sqrt(d)

   with r_x the sinusoids [sin(x w_t) … | cos(x w_t) …], w_t = base^(-2t/width), of the distance, W
   of each layer (a slice a head), and u, v of each head, shared by all layers as in the authors'
   code unless `untie`. (RoFormer's equation 7 multiplies u and v by W_q once more.)

   q + u is what `rotate` makes of q. For W r there are two ways:
   - Positions that rise by one: W r_x is prepared for every distance of the sequence, and 16 rows
     at a time meet the run of distances that the tile has for them; row by row it shifts by one.
   - Any others, fractions too: sin and cos of a difference are products of sines and cosines, so
     (q_i + v) · W turned by position i meets the sinusoids of position j. Exact, but `width`
     products a score instead of d. */
#include "encodings/encoding.h"

#include "src/gemm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { W, U, V };

typedef struct {
    double base, init_std;
    bool untie;
} TransformerXlOptions;

static const Option options[] = {
    {.name = "base", .type = OPTION_NUMBER, .offset = offsetof(TransformerXlOptions, base),
     .fallback = 10000, .min = 1.0001, .max = 1e12, .doc = "frequencies base^(-2t/width)"},
    {.name = "untie", .type = OPTION_BOOLEAN, .offset = offsetof(TransformerXlOptions, untie),
     .fallback = 0, .doc = "u and v of each layer, instead of one pair for all"},
    {.name = "init_std", .type = OPTION_NUMBER, .offset = offsetof(TransformerXlOptions, init_std),
     .fallback = 0.05, .min = 0, .max = 10,
     .doc = "deviation of the initial values of W, u and v (authors: 0.02)"},
    {0}};

static const char *refuse(const EncodingShape *shape) {
    static char reason[100];
    if (shape->width % 2 == 0) return NULL;
    snprintf(reason, sizeof reason, "sines and cosines need an even model.width, which is %d",
             shape->width);
    return reason;
}

static int parameters(const EncodingShape *shape, EncodingParameter list[ENCODING_PARAMETERS]) {
    const TransformerXlOptions *o = shape->options;
    const size_t width = (size_t)shape->width;
    const size_t heads = (size_t)shape->heads, d = (size_t)shape->head_width;
    list[W] = (EncodingParameter){
        .name = "w", .rank = 2, .dims = {width, width}, .deviation = o->init_std};
    list[U] = (EncodingParameter){.name = "u",
                                  .rank = 2,
                                  .dims = {heads, d},
                                  .shared = !o->untie,
                                  .deviation = o->init_std};
    list[V] = list[U];
    list[V].name = "v";
    return 3;
}

/* ---- tables of positions --------------------------------------------------------------------- */

/* Distances that a sequence of that length can have between visible pairs when positions rise by
   one, in falling order, with MARGIN more at both ends for products in whole groups of 16. */
enum { MARGIN = 2 * GEMM_ROWS };

static size_t span(const EncodingShape *shape, size_t length) {
    return round_up((shape->causal ? 1 : 2) * length + 2 * MARGIN, GEMM_ROWS);
}
/* The entry of a distance. */
static size_t entry(size_t length, double distance) {
    return (size_t)((double)(length - 1 + MARGIN) - distance);
}

/* The table: whether positions rise by one; sinusoids [span, width] by distance; and when they do
   not, sinusoids [padded, width] of every token's position and their transpose [width, padded]. */
enum { HEADER = GEMM_ROWS };
static size_t padded(size_t length) { return round_up(length, GEMM_ROWS); }

static size_t table_size(const EncodingShape *shape, size_t length) {
    return HEADER + (span(shape, length) + 2 * padded(length)) * (size_t)shape->width;
}
static bool rising(const Site *site) { return site->table[0] != 0; }
static const real *by_distance(const Site *site) { return site->table + HEADER; }
static const real *by_token(const Site *site) {
    return by_distance(site) + span(site->shape, site->length) * (size_t)site->shape->width;
}
static const real *by_token_transposed(const Site *site) {
    return by_token(site) + padded(site->length) * (size_t)site->shape->width;
}

static void sinusoids(const EncodingShape *shape, double x, real *out) {
    const double base = ((const TransformerXlOptions *)shape->options)->base;
    const size_t half = (size_t)shape->width / 2;
    for (size_t t = 0; t < half; t++) {
        const double angle = x * pow(base, -(double)t / (double)half);
        out[t] = (real)sin(angle);
        out[half + t] = (real)cos(angle);
    }
}

static void begin(const Site *site, real *table) {
    const size_t width = (size_t)site->shape->width, length = site->length;
    const size_t count = span(site->shape, length);
    bool rise = true;
    for (size_t i = 0; i < length; i++)
        rise &= site->positions[i] == site->positions[0] + (double)i;
    table[0] = rise;
    real *rows = table + HEADER;
    for (size_t n = 0; n < count; n++)
        sinusoids(site->shape, (double)(length - 1 + MARGIN) - (double)n, rows + n * width);
    if (rise) return;
    rows += count * width;
    for (size_t i = 0; i < length; i++)
        sinusoids(site->shape, site->positions[i], rows + i * width);
    memset(rows + length * width, 0, (padded(length) - length) * width * sizeof(real));
    gemm_transpose(rows + padded(length) * width, padded(length), rows, width, padded(length),
                   width);
}

/* ---- what follows from W, for one head ------------------------------------------------------- */

/* prepared: R = W r by distance [span, d], its transpose, and W of the head, transposed [d, width].
   The slot: the gradients of R, W of the head [width, d], u and v. */
static size_t distances_size(const EncodingShape *shape, size_t length) {
    return span(shape, length) * (size_t)shape->head_width;
}
static size_t prepared_size(const EncodingShape *shape, size_t length) {
    return 2 * distances_size(shape, length) + (size_t)(shape->width * shape->head_width);
}
static size_t slot_size(const EncodingShape *shape, size_t length) {
    return distances_size(shape, length) + (size_t)((shape->width + 2) * shape->head_width);
}

static void prepare(const Site *site, real *prepared) {
    const size_t width = (size_t)site->shape->width, d = (size_t)site->shape->head_width;
    const size_t count = span(site->shape, site->length);
    const real *w = site->parameters[W] + (size_t)site->head * d;
    gemm(count, d, width, by_distance(site), width, w, width, 0, prepared, d);
    gemm_transpose(prepared + count * d, count, prepared, d, count, d);
    gemm_transpose(prepared + 2 * count * d, width, w, width, width, d);
}

static void prepare_backward(const Site *site, const real *slot, real *const *gradients) {
    const size_t width = (size_t)site->shape->width, d = (size_t)site->shape->head_width;
    const size_t count = span(site->shape, site->length), of_head = (size_t)site->head * d;
    real *dw = gradients[W] + of_head, *du = gradients[U] + of_head, *dv = gradients[V] + of_head;
    /* forward: R = r · W */
    gemm_transposed(width, d, count, by_distance(site), width, slot, d, 1, dw, width);
    slot += count * d;
    for (size_t c = 0; c < width; c++, slot += d)
        for (size_t i = 0; i < d; i++) dw[c * width + i] += slot[i];
    for (size_t i = 0; i < d; i++) du[i] += slot[i], dv[i] += slot[d + i];
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void rotate(const Site *site, RotateSide side, size_t first, size_t rows, const real *x,
                   size_t stride, real *out) {
    (void)first;
    const size_t d = (size_t)site->shape->head_width;
    const real *u = site->parameters[U] + (size_t)site->head * d;
    for (size_t row = 0; row < rows; row++, x += stride, out += d)
        for (size_t i = 0; i < d; i++) out[i] = side == ROTATE_QUERY ? x[i] + u[i] : x[i];
}

static void rotate_backward(const Site *site, RotateSide side, size_t first, size_t rows,
                            const real *x, size_t stride, const real *dout, real *dx, real *slot) {
    (void)first, (void)x;
    const size_t d = (size_t)site->shape->head_width;
    real *du = slot + distances_size(site->shape, site->length) + (size_t)site->shape->width * d;
    for (size_t row = 0; row < rows; row++, dx += stride, dout += d) {
        memcpy(dx, dout, d * sizeof(real));
        for (size_t i = 0; side == ROTATE_QUERY && i < d; i++) du[i] += dout[i];
    }
}

/* The scratch of a row: (q + v) / sqrt(d), then what meets the sinusoids of a key's position. */
static int row_scratch(const EncodingShape *shape) { return shape->head_width + shape->width; }

/* a · sin(x - y) + b · cos(x - y) with y's sinusoids taken out: they meet b sin x - a cos x and
   a sin x + b cos x. The matrix is symmetric, so the gradient turns in the same way. */
static void turn(const real *of_x, size_t half, real *a) {
    real *b = a + half;
    for (size_t t = 0; t < half; t++) {
        const real sine = of_x[t], cosine = of_x[half + t], first = a[t], second = b[t];
        a[t] = second * sine - first * cosine;
        b[t] = first * sine + second * cosine;
    }
}
static void turn_rows(const Site *site, const QueryBlock *block, real *scratch) {
    const size_t width = (size_t)site->shape->width, d = (size_t)site->shape->head_width;
    for (size_t r = 0; r < (size_t)block->rows; r++)
        turn(by_token(site) + (block->first + r) * width, width / 2, scratch + r * (d + width) + d);
}

static void open(const Site *site, QueryBlock *block) {
    const size_t width = (size_t)site->shape->width, d = (size_t)site->shape->head_width;
    const size_t rows = (size_t)block->rows, stride = d + width;
    const real *u = site->parameters[U] + (size_t)site->head * d;
    const real *v = site->parameters[V] + (size_t)site->head * d;
    const real scale = (real)(1 / sqrt((double)d));
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < d; i++)
            block->scratch[r * stride + i] = block->q[r * d + i] + scale * (v[i] - u[i]);
    if (rising(site)) return;
    const real *w = site->prepared + 2 * distances_size(site->shape, site->length);
    gemm(rows, width, d, block->scratch, stride, w, width, 0, block->scratch + d, stride);
    turn_rows(site, block, block->scratch);
}

static void open_backward(const Site *site, QueryBlock *block, real *slot) {
    const size_t width = (size_t)site->shape->width, d = (size_t)site->shape->head_width;
    const size_t rows = (size_t)block->rows, stride = d + width;
    const real scale = (real)(1 / sqrt((double)d));
    real *dw = slot + distances_size(site->shape, site->length);
    real *du = dw + width * d, *dv = du + d, *dt = block->dscratch;
    if (!rising(site)) {
        turn_rows(site, block, dt);
        /* forward: t · Wᵀ */
        const real *w = site->parameters[W] + (size_t)site->head * d;
        gemm(rows, d, width, dt + d, stride, w, width, 1, dt, stride);
        gemm_transposed(width, d, rows, dt + d, stride, block->scratch, stride, 1, dw, d);
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < d; i++) {
            block->dq[r * d + i] += dt[r * stride + i];
            du[i] -= scale * dt[r * stride + i];
            dv[i] += scale * dt[r * stride + i];
        }
}

/* ---- a tile ---------------------------------------------------------------------------------- */

enum { GROUP = GEMM_ROWS }; /* rows that meet one run of distances */

/* Rows row … of the block against the columns that they can see: entries from … from + count - 1 of
   R, where column 0 of row i is entry GROUP - 1 - i of the run. */
typedef struct {
    size_t row, rows, columns, from, count;
} Run;

static Run run_of(const Site *site, const QueryBlock *block, const KeyTile *tile, size_t row) {
    const size_t end = block->first + row + GROUP;
    Run run = {.row = row,
               .rows = least((size_t)block->rows - row, GROUP),
               .columns = (size_t)tile->columns};
    if (site->shape->causal) run.columns = least(run.columns, end - tile->first);
    run.from = entry(site->length, (double)(end - 1) - (double)tile->first);
    run.count = GROUP + run.columns;
    return run;
}

static void score(const Site *site, QueryBlock *block, KeyTile *tile, real *s) {
    const size_t width = (size_t)site->shape->width, d = (size_t)site->shape->head_width;
    const size_t stride = d + width, all = span(site->shape, site->length);
    const size_t rows = (size_t)block->rows, tokens = padded(site->length);
    if (!rising(site)) {
        gemm(rows, (size_t)tile->columns, width, block->scratch + d, stride,
             by_token_transposed(site) + tile->first, tokens, 1, s, (size_t)tile->stride);
        return;
    }
    real product[GROUP * (GROUP + TILE_COLUMNS)];
    for (size_t row = 0; row < rows; row += GROUP) {
        const Run run = run_of(site, block, tile, row);
        gemm(GROUP, run.count, d, block->scratch + row * stride, stride,
             site->prepared + all * d + run.from, all, 0, product, run.count);
        for (size_t i = 0; i < run.rows; i++) {
            real *to = s + (row + i) * (size_t)tile->stride;
            const real *from = product + i * run.count + (GROUP - 1 - i);
            for (size_t c = 0; c < run.columns; c++) to[c] += from[c];
        }
    }
}

static void score_backward(const Site *site, QueryBlock *block, KeyTile *tile, real *ds,
                           real *slot) {
    const size_t width = (size_t)site->shape->width, d = (size_t)site->shape->head_width;
    const size_t stride = d + width, rows = (size_t)block->rows;
    if (!rising(site)) {
        gemm(rows, width, (size_t)tile->columns, ds, (size_t)tile->stride,
             by_token(site) + tile->first * width, width, 1, block->dscratch + d, stride);
        return;
    }
    real dproduct[GROUP * (GROUP + TILE_COLUMNS)];
    for (size_t row = 0; row < rows; row += GROUP) {
        const Run run = run_of(site, block, tile, row);
        memset(dproduct, 0, GROUP * run.count * sizeof(real));
        for (size_t i = 0; i < run.rows; i++)
            memcpy(dproduct + i * run.count + (GROUP - 1 - i),
                   ds + (row + i) * (size_t)tile->stride, run.columns * sizeof(real));
        /* forward: product = t · Rᵀ */
        gemm(GROUP, d, run.count, dproduct, run.count, site->prepared + run.from * d, d, 1,
             block->dscratch + row * stride, stride);
        gemm_transposed(run.count, d, run.rows, dproduct, run.count, block->scratch + row * stride,
                        stride, 1, slot + run.from * d, d);
    }
}

/* ---- for the result file --------------------------------------------------------------------- */

static void tables(const EncodingShape *shape, const real *const *const *values, size_t length,
                   PositionTableSink sink, void *to) {
    const size_t layers = (size_t)shape->layers, heads = (size_t)shape->heads;
    const size_t width = (size_t)shape->width, d = (size_t)shape->head_width;
    double *bias = ALLOCATE(layers * heads * length, double), *of_v = ALLOCATE(width, double);
    real *r = ALLOCATE(width, real);
    for (size_t unit = 0; unit < layers * heads; unit++) {
        const real *const *p = values[unit / heads];
        const size_t of_head = unit % heads * d;
        for (size_t c = 0; c < width; c++) {
            of_v[c] = 0;
            for (size_t i = 0; i < d; i++)
                of_v[c] += (double)p[W][c * width + of_head + i] * (double)p[V][of_head + i];
        }
        for (size_t x = 0; x < length; x++) {
            double sum = 0;
            sinusoids(shape, (double)x, r);
            for (size_t c = 0; c < width; c++) sum += (double)r[c] * of_v[c];
            bias[unit * length + x] = sum / sqrt((double)d);
        }
    }
    sink(to, &(PositionTable){.name = "bias_by_distance",
                              .rank = 3,
                              .dims = {layers, heads, length},
                              .axes = {"layer", "head", "distance"},
                              .values = bias,
                              .kind = "learned",
                              .convention = "v · W r_x / sqrt(d), x = query - key: the part of a "
                                            "score that no content changes",
                              .unit = "nat",
                              .counted = -1});
    free(bias);
    free(of_v);
    free(r);
}

const Encoding encoding_transformer_xl = {
    .name = "transformer_xl",
    .summary = "projected sinusoids of the distance meet q; biases u and v stand in for q",
    .source = "Dai et al. 2019 (arXiv 1901.02860), section 3.3",
    .options = options,
    .options_size = sizeof(TransformerXlOptions),
    .parameters = parameters,
    .refuse = refuse,
    .table_size = table_size,
    .prepared_size = prepared_size,
    .slot_size = slot_size,
    .row_scratch = row_scratch,
    .begin = begin,
    .prepare = prepare,
    .prepare_backward = prepare_backward,
    .rotate = rotate,
    .rotate_backward = rotate_backward,
    .open = open,
    .open_backward = open_backward,
    .score = score,
    .score_backward = score_backward,
    .tables = tables,
};
