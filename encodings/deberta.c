/* Disentangled attention (He et al. 2020, DeBERTa, arXiv 2006.03654, equations 2 to 4):

       score_ij = (q_i · k_j + q_i · Kr[D(i,j)] + k_j · Qr[…]) / sqrt(3 d)
       Kr = P W_key,  Qr = P W_query,  D(i,j) = clip(i - j, -k, k - 1) + k

   with P[2k, width] shared by all layers and W of each layer; the terms are called content-to-
   content, content-to-position (c2p) and position-to-content (p2c), and the 3 counts those that are
   there. The sources differ in the row of the last term: the paper has D(j,i) (p2c_index =
   "paper"), while the authors' code and Hugging Face's gather D(i,j) (p2c_index = "code").

   buckets > 0 gives the logarithmic buckets of DeBERTa-v2: k = buckets rows a side, exact below
   buckets / 2, up to the distance `span`. Not here: sharing W with the content (share_att_key), the
   biases of the position projections and the norm of P, which versions of the code add. */
#include "encodings/tile.h"

#include "src/gemm.h"

#include <stdio.h>
#include <stdlib.h>

enum { TERMS_BOTH, TERMS_C2P, TERMS_P2C, TERMS_NONE };
enum { P2C_PAPER, P2C_CODE };

typedef struct {
    int64_t span, buckets;
    int terms, p2c_index;
    double init_std;
} DebertaOptions;

static const Option options[] = {
    {.name = "span", .type = OPTION_INTEGER, .offset = offsetof(DebertaOptions, span),
     .fallback = 512, .min = 1, .max = 1 << 13,
     .doc = "k: distances beyond it share the last row"},
    {.name = "buckets", .type = OPTION_INTEGER, .offset = offsetof(DebertaOptions, buckets),
     .fallback = 0, .min = 0, .max = 1 << 13,
     .doc = "0: a row a distance; otherwise rows a side, logarithmic from half of them to span "
            "(DeBERTa-v2: 256)"},
    {.name = "terms", .type = OPTION_CHOICE, .offset = offsetof(DebertaOptions, terms),
     .words = "both|c2p|p2c|none", .doc = "beside content-to-content"},
    {.name = "p2c_index", .type = OPTION_CHOICE, .offset = offsetof(DebertaOptions, p2c_index),
     .words = "paper|code",
     .doc = "row of position-to-content: of the distance j - i (paper) or i - j (authors' code)"},
    {.name = "init_std", .type = OPTION_NUMBER, .offset = offsetof(DebertaOptions, init_std),
     .fallback = 0.05, .min = 0, .max = 10,
     .doc = "deviation of the initial values of the table and its projections"},
    {0}};

static const DebertaOptions *options_of(const EncodingShape *shape) { return shape->options; }
static bool has_c2p(const EncodingShape *shape) {
    return options_of(shape)->terms == TERMS_BOTH || options_of(shape)->terms == TERMS_C2P;
}
static bool has_p2c(const EncodingShape *shape) {
    return options_of(shape)->terms == TERMS_BOTH || options_of(shape)->terms == TERMS_P2C;
}

static double scale(const EncodingShape *shape) {
    return 1 / sqrt(shape->head_width * (1.0 + has_c2p(shape) + has_p2c(shape)));
}

static const char *refuse(const EncodingShape *shape) {
    static char reason[160];
    const DebertaOptions *o = options_of(shape);
    if (!o->buckets || (o->buckets % 2 == 0 && o->buckets >= 4 && o->span > o->buckets / 2 + 1))
        return NULL;
    snprintf(reason, sizeof reason,
             "buckets = %lld with span = %lld; they must be 0 or an even number from 4 with "
             "buckets / 2 + 1 < span",
             (long long)o->buckets, (long long)o->span);
    return reason;
}

/* ---- the table and its rows ------------------------------------------------------------------ */

enum { TABLE, W_FIRST }; /* parameters: P, then W_key and W_query where their terms are there */
static int w_key(const EncodingShape *shape) {
    (void)shape;
    return W_FIRST;
}
static int w_query(const EncodingShape *shape) { return W_FIRST + has_c2p(shape); }

static size_t rows_a_side(const EncodingShape *shape) {
    const DebertaOptions *o = options_of(shape);
    return (size_t)(o->buckets ? o->buckets : o->span);
}
static size_t rows_of_table(const EncodingShape *shape) { return 2 * rows_a_side(shape); }
static size_t padded_rows(const EncodingShape *shape) {
    return round_up(rows_of_table(shape), GEMM_ROWS);
}

static int parameters(const EncodingShape *shape, EncodingParameter list[ENCODING_PARAMETERS]) {
    const size_t width = (size_t)shape->width;
    const double deviation = options_of(shape)->init_std;
    if (!has_c2p(shape) && !has_p2c(shape)) return 0;
    list[TABLE] = (EncodingParameter){.name = "table",
                                      .rank = 2,
                                      .dims = {rows_of_table(shape), width},
                                      .shared = true,
                                      .deviation = deviation,
                                      .counts_rows = true};
    EncodingParameter projection = {.rank = 2, .dims = {width, width}, .deviation = deviation};
    projection.name = "query";
    list[w_query(shape)] = projection;
    projection.name = "key";
    if (has_c2p(shape)) list[w_key(shape)] = projection;
    return w_query(shape) + has_p2c(shape);
}

/* The row of a whole distance: make_log_bucket_position of the authors' code, then the clip. */
static double bucket_row(const EncodingShape *shape, double distance) {
    const DebertaOptions *o = options_of(shape);
    const double middle = (double)(o->buckets / 2), far = fabs(distance);
    double bucket = distance;
    if (far > middle)
        bucket = copysign(ceil(log(far / middle) / log(((double)o->span - 1) / middle) *
                               (middle - 1)) + middle, distance);
    return fmin(fmax(bucket + (double)o->buckets, 0), 2 * (double)o->buckets - 1);
}

/* With buckets, the table of positions is their rows for distances -span … span. */
static size_t table_size(const EncodingShape *shape, size_t length) {
    (void)length;
    const DebertaOptions *o = options_of(shape);
    return o->buckets ? 2 * (size_t)o->span + 1 : 0;
}
static void begin(const Site *site, real *table) {
    const double span = (double)options_of(site->shape)->span;
    for (size_t i = 0; i < table_size(site->shape, 0); i++)
        table[i] = (real)bucket_row(site->shape, (double)i - span);
}

static DistanceRows distances(const Site *site, double sign) {
    const DebertaOptions *o = options_of(site->shape);
    const double span = (double)o->span;
    return (DistanceRows){.sign = sign,
                          .before = span,
                          .after = o->buckets ? span : span - 1,
                          .bucket = o->buckets ? site->table : NULL};
}
static DistanceRows c2p_rows(const Site *site) { return distances(site, 1); }
static DistanceRows p2c_rows(const Site *site) {
    return distances(site, options_of(site->shape)->p2c_index == P2C_PAPER ? -1 : 1);
}

/* ---- projections, once a layer and head ------------------------------------------------------ */

/* c[m,n] += a[m,k] · b[k,n] for exactly m rows: parameters have no room for more. */
static void product_rows(size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b,
                         size_t ldb, real *c, size_t ldc) {
    const size_t whole = m / GEMM_ROWS * GEMM_ROWS;
    if (whole) gemm(whole, n, k, a, lda, b, ldb, 1, c, ldc);
    for (size_t i = whole; i < m; i++)
        for (size_t p = 0; p < k; p++)
            for (size_t j = 0; j < n; j++) c[i * ldc + j] += a[i * lda + p] * b[p * ldb + j];
}

/* Where things lie in what prepare writes for a head: the rows [padded + 16, d] of Kr and of Qr (a
   product may start at any of them), the transpose [d, padded] of Kr, and both W of the head,
   transposed [d, width]. The slot holds the gradients of the rows. */
typedef struct {
    size_t key, query, slot_end, key_columns, w_key, w_query, end;
} Layout;

static Layout layout(const EncodingShape *shape) {
    const size_t d = (size_t)shape->head_width, padded = padded_rows(shape);
    const size_t c2p = has_c2p(shape), p2c = has_p2c(shape);
    const size_t rows = (padded + GEMM_ROWS) * d, w = d * (size_t)shape->width;
    Layout at = {.query = c2p * rows};
    at.slot_end = at.key_columns = at.query + p2c * rows;
    at.w_key = at.key_columns + c2p * padded * d;
    at.w_query = at.w_key + c2p * w;
    at.end = at.w_query + p2c * w;
    return at;
}
static size_t prepared_size(const EncodingShape *shape, size_t length) {
    (void)length;
    return layout(shape).end;
}
static size_t slot_size(const EncodingShape *shape, size_t length) {
    (void)length;
    return layout(shape).slot_end;
}

static void project(const Site *site, int w, real *rows, real *transposed) {
    const size_t width = (size_t)site->shape->width, d = (size_t)site->shape->head_width;
    const real *of_head = site->parameters[w] + (size_t)site->head * d;
    memset(rows, 0, (padded_rows(site->shape) + GEMM_ROWS) * d * sizeof(real));
    product_rows(rows_of_table(site->shape), d, width, site->parameters[TABLE], width, of_head,
                 width, rows, d);
    gemm_transpose(transposed, width, of_head, width, width, d);
}

static void project_backward(const Site *site, int w, const real *transposed, const real *drows,
                             real *const *gradients) {
    const size_t width = (size_t)site->shape->width, d = (size_t)site->shape->head_width;
    const size_t n = rows_of_table(site->shape);
    /* forward: rows = P · W */
    product_rows(n, width, d, drows, d, transposed, width, gradients[TABLE], width);
    gemm_transposed(width, d, n, site->parameters[TABLE], width, drows, d, 1,
                    gradients[w] + (size_t)site->head * d, width);
}

static void prepare(const Site *site, real *prepared) {
    const Layout at = layout(site->shape);
    const size_t d = (size_t)site->shape->head_width, padded = padded_rows(site->shape);
    if (has_c2p(site->shape)) {
        project(site, w_key(site->shape), prepared + at.key, prepared + at.w_key);
        gemm_transpose(prepared + at.key_columns, padded, prepared + at.key, d, padded, d);
    }
    if (has_p2c(site->shape))
        project(site, w_query(site->shape), prepared + at.query, prepared + at.w_query);
}

static void prepare_backward(const Site *site, const real *slot, real *const *gradients) {
    const Layout at = layout(site->shape);
    if (has_c2p(site->shape))
        project_backward(site, w_key(site->shape), site->prepared + at.w_key, slot + at.key,
                         gradients);
    if (has_p2c(site->shape))
        project_backward(site, w_query(site->shape), site->prepared + at.w_query, slot + at.query,
                         gradients);
}

/* ---- content-to-position: q meets the rows within reach once a block, tiles pick ------------- */

/* The scratch of a block: [rows, padded] of q · Kr, and behind the room for TILE_ROWS of them
   [padded + 32, 16] for position-to-content. */
static size_t logits(const EncodingShape *shape) { return has_c2p(shape) ? padded_rows(shape) : 0; }
static int row_scratch(const EncodingShape *shape) {
    const size_t window = has_p2c(shape) ? padded_rows(shape) + 2 * GEMM_ROWS : 0;
    return (int)(logits(shape) + window * GEMM_ROWS / TILE_ROWS);
}

/* Rows that the block can meet, in whole groups of 16 from *from. */
static size_t within_reach(const Site *site, const QueryBlock *block, size_t *from) {
    const DistanceRows by = c2p_rows(site);
    const size_t end = block->first + (size_t)block->rows;
    const RowRange range = block_range(&by, site, block, site->shape->causal ? end : site->length);
    *from = range.from / GEMM_ROWS * GEMM_ROWS;
    return round_up(range.to + 1, GEMM_ROWS) - *from;
}

static void open(const Site *site, QueryBlock *block) {
    if (!has_c2p(site->shape)) return;
    const size_t d = (size_t)site->shape->head_width, padded = padded_rows(site->shape);
    size_t from, count = within_reach(site, block, &from);
    gemm((size_t)block->rows, count, d, block->q, d,
         site->prepared + layout(site->shape).key_columns + from, padded, 0, block->scratch + from,
         padded);
}

static void open_backward(const Site *site, QueryBlock *block, real *slot) {
    if (!has_c2p(site->shape)) return;
    const Layout at = layout(site->shape);
    const size_t d = (size_t)site->shape->head_width, padded = padded_rows(site->shape);
    const size_t rows = (size_t)block->rows;
    size_t from, count = within_reach(site, block, &from);
    const real *dlogits = block->dscratch + from;
    /* forward: logits = q · Krᵀ */
    gemm(rows, d, count, dlogits, padded, site->prepared + at.key + from * d, d, 1, block->dq, d);
    gemm_transposed(count, d, rows, dlogits, padded, block->q, d, 1, slot + at.key + from * d, d);
}

static void score_c2p(const Site *site, QueryBlock *block, KeyTile *tile, real *s) {
    const DistanceRows by = c2p_rows(site);
    const size_t padded = padded_rows(site->shape), columns = (size_t)tile->columns;
    TileRows rows;
    tile_rows(&rows, &by, site, block, tile);
    for (size_t r = 0; r < (size_t)block->rows; r++)
        tile_gather(&rows, r, columns, block->scratch + r * padded, s + r * (size_t)tile->stride);
}

static void score_c2p_backward(const Site *site, QueryBlock *block, KeyTile *tile, const real *ds) {
    const DistanceRows by = c2p_rows(site);
    const size_t padded = padded_rows(site->shape), columns = (size_t)tile->columns;
    TileRows rows;
    tile_rows(&rows, &by, site, block, tile);
    for (size_t r = 0; r < (size_t)block->rows; r++)
        tile_scatter(&rows, r, columns, ds + r * (size_t)tile->stride,
                     block->dscratch + r * padded);
}

/* ---- position-to-content: 16 keys at a time meet the rows that the block sees them by -------- */

enum { KEYS = GEMM_ROWS };

/* Products of rows of Qr with the keys: [rows, KEYS], in the room of the scratch. */
static real *products(const Site *site, const QueryBlock *block) {
    return block->scratch + TILE_ROWS * logits(site->shape);
}
/* Where the product of each key is that row r of the block sees. */
static inline void places(const TileRows *rows, size_t r, size_t c, size_t from,
                          int32_t place[restrict KEYS]) {
    tile_rows_of(rows, r, c, KEYS, place);
#pragma omp simd
    for (int i = 0; i < KEYS; i++) place[i] = (place[i] - (int32_t)from) * KEYS + i;
}

/* Keys that are far from the whole block have one row x: s[r][c] += scaled x · k_c for every r. */
static void add_one_row(const KeyTile *tile, size_t c, size_t d, size_t rows, real scaled,
                        const real *x, real *s) {
    const size_t stride = (size_t)tile->stride;
    for (size_t i = c; i < c + KEYS; i += LANES) {
        Lanes product = {0};
        for (size_t n = 0; n < d; n++) product += x[n] * lanes_load(tile->kt + n * stride + i);
        product *= scaled;
        for (size_t r = 0; r < rows; r++)
            lanes_store(s + r * stride + i, lanes_load(s + r * stride + i) + product);
    }
}
static void add_one_row_backward(const KeyTile *tile, size_t c, size_t d, size_t rows, real scaled,
                                 const real *x, real *restrict dx, const real *ds) {
    const size_t stride = (size_t)tile->stride;
    for (size_t i = c; i < c + KEYS; i += LANES) {
        Lanes dproduct = {0};
        for (size_t r = 0; r < rows; r++) dproduct += lanes_load(ds + r * stride + i);
        dproduct *= scaled;
        for (size_t lane = 0; lane < LANES; lane++) {
            const real *k = tile->k + (i + lane) * d, by = dproduct[lane];
            real *dk = tile->dk + (i + lane) * d;
            for (size_t n = 0; n < d; n++) {
                dk[n] += by * x[n];
                dx[n] += by * k[n];
            }
        }
    }
}

/* Where positions rise by one and nothing is clipped, query r finds key i in row r + 15 - i of the
   products or, where rows fall (sign -1), in row (rows - 1 - r) + i: a diagonal. */
static bool is_diagonal(const TileRows *rows, size_t count, size_t c) {
    const int32_t first = rows->by.sign > 0 ? rows->query[0] - rows->key[c + KEYS - 1]
                                            : rows->query[count - 1] - rows->key[c];
    return rows->rising && first >= 0 &&
           first + (int32_t)count + KEYS - 2 <= (int32_t)(rows->by.before + rows->by.after);
}

/* How far down its column key i stands, bit by bit, for the keys from i on. */
typedef struct {
    IntLanes bit[4];
} Shift;

static inline Shift diagonal_shift(bool falls, size_t i) {
    Shift shift;
    IntLanes distance;
    for (int lane = 0; lane < LANES; lane++)
        distance[lane] = falls ? (int)i + lane : KEYS - 1 - (int)i - lane;
    for (int n = 0; n < 4; n++) shift.bit[n] = (distance & (1 << n)) != 0;
    return shift;
}

/* In each lane row 0, step, 2 step or 3 step of x, as two bits say. */
static inline Lanes pick(const real *x, ptrdiff_t step, IntLanes low, IntLanes high) {
    const ptrdiff_t next = step * KEYS;
    return lanes_select(high, lanes_select(low, lanes_load(x + 3 * next), lanes_load(x + 2 * next)),
                        lanes_select(low, lanes_load(x + next), lanes_load(x)));
}

/* s[r][i] += scaled times what query r finds of key i. The products are moved up their columns in
   two steps, by multiples of 4 and by what is left. */
static void add_diagonal(bool falls, size_t rows, real scaled, real *product, size_t stride,
                         real *s) {
    for (size_t i = 0; i < KEYS; i += LANES) {
        const Shift shift = diagonal_shift(falls, i);
        real *x = product + i;
        for (size_t n = 0; n < rows + 3; n++)
            lanes_store(x + n * KEYS, pick(x + n * KEYS, 4, shift.bit[2], shift.bit[3]));
        for (size_t n = 0; n < rows; n++) {
            real *to = s + (falls ? rows - 1 - n : n) * stride + i;
            const Lanes found = pick(x + n * KEYS, 1, shift.bit[0], shift.bit[1]);
            lanes_store(to, lanes_load(to) + scaled * found);
        }
    }
}
/* Behind dproduct[rows + 15] stand zeros to a whole group of rows, and KEYS rows of room before. */
static void add_diagonal_backward(bool falls, size_t rows, real scaled, real *dproduct,
                                  size_t stride, const real *ds) {
    const size_t count = gemm_rows(rows + KEYS - 1);
    memset(dproduct - KEYS * KEYS, 0, KEYS * KEYS * sizeof(real));
    memset(dproduct + rows * KEYS, 0, (count - rows) * KEYS * sizeof(real));
    for (size_t i = 0; i < KEYS; i += LANES) {
        const Shift shift = diagonal_shift(falls, i);
        real *x = dproduct + i;
        for (size_t n = 0; n < rows; n++)
            lanes_store(x + n * KEYS,
                        scaled * lanes_load(ds + (falls ? rows - 1 - n : n) * stride + i));
        for (size_t n = rows + 3; n-- > 0;)
            lanes_store(x + n * KEYS, pick(x + n * KEYS, -1, shift.bit[0], shift.bit[1]));
        for (size_t n = rows + KEYS - 1; n-- > 0;)
            lanes_store(x + n * KEYS, pick(x + n * KEYS, -4, shift.bit[2], shift.bit[3]));
    }
}

static void score_p2c(const Site *site, QueryBlock *block, KeyTile *tile, real *s) {
    const DistanceRows by = p2c_rows(site);
    const size_t d = (size_t)site->shape->head_width, stride = (size_t)tile->stride;
    const real *qr = site->prepared + layout(site->shape).query, scaled = (real)scale(site->shape);
    real *restrict product = products(site, block);
    TileRows rows;
    tile_rows(&rows, &by, site, block, tile);
    for (size_t c = 0; c < (size_t)tile->columns; c += KEYS) {
        const RowRange range = tile_range(&rows, c, KEYS);
        if (range.from == range.to) {
            add_one_row(tile, c, d, (size_t)block->rows, scaled, qr + range.from * d, s);
            continue;
        }
        gemm(range.to - range.from + 1, KEYS, d, qr + range.from * d, d, tile->kt + c, stride, 0,
             product, KEYS);
        if (is_diagonal(&rows, (size_t)block->rows, c)) {
            add_diagonal(by.sign < 0, (size_t)block->rows, scaled, product, stride, s + c);
            continue;
        }
        for (size_t r = 0; r < (size_t)block->rows; r++) {
            real *restrict to = s + r * stride + c;
            int32_t place[KEYS];
            places(&rows, r, c, range.from, place);
            for (int i = 0; i < KEYS; i += LANES)
                lanes_store(to + i, lanes_load(to + i) + scaled * lanes_gather(product, place + i));
        }
    }
}

static void score_p2c_backward(const Site *site, QueryBlock *block, KeyTile *tile, const real *ds,
                               real *dqr) {
    const DistanceRows by = p2c_rows(site);
    const size_t d = (size_t)site->shape->head_width, stride = (size_t)tile->stride;
    const real *qr = site->prepared + layout(site->shape).query, scaled = (real)scale(site->shape);
    real *restrict dproduct = products(site, block) + KEYS * KEYS;
    TileRows rows;
    tile_rows(&rows, &by, site, block, tile);
    for (size_t c = 0; c < (size_t)tile->columns; c += KEYS) {
        const RowRange range = tile_range(&rows, c, KEYS);
        if (range.from == range.to) {
            add_one_row_backward(tile, c, d, (size_t)block->rows, scaled, qr + range.from * d,
                                 dqr + range.from * d, ds);
            continue;
        }
        const size_t count = gemm_rows(range.to - range.from + 1);
        if (is_diagonal(&rows, (size_t)block->rows, c)) {
            add_diagonal_backward(by.sign < 0, (size_t)block->rows, scaled, dproduct, stride,
                                  ds + c);
        } else {
            memset(dproduct, 0, count * KEYS * sizeof(real));
            for (size_t r = 0; r < (size_t)block->rows; r++) {
                const real *restrict from = ds + r * stride + c;
                int32_t place[KEYS];
                places(&rows, r, c, range.from, place);
                for (int i = 0; i < KEYS; i++) dproduct[place[i]] += scaled * from[i];
            }
        }
        /* forward: product = Qr · kᵀ */
        gemm_transposed(KEYS, d, count, dproduct, KEYS, qr + range.from * d, d, 1,
                        tile->dk + c * d, d);
        gemm(count, d, KEYS, dproduct, KEYS, tile->k + c * d, d, 1, dqr + range.from * d, d);
    }
}

static void score(const Site *site, QueryBlock *block, KeyTile *tile, real *s) {
    if (has_c2p(site->shape)) score_c2p(site, block, tile, s);
    if (has_p2c(site->shape)) score_p2c(site, block, tile, s);
}

static void score_backward(const Site *site, QueryBlock *block, KeyTile *tile, real *ds,
                           real *slot) {
    if (has_c2p(site->shape)) score_c2p_backward(site, block, tile, ds);
    if (has_p2c(site->shape))
        score_p2c_backward(site, block, tile, ds, slot + layout(site->shape).query);
}

static void tables(const EncodingShape *shape, const real *const *const *values, size_t length,
                   PositionTableSink sink, void *to) {
    (void)length;
    const size_t width = (size_t)shape->width, count = rows_of_table(shape) * width;
    if (!has_c2p(shape) && !has_p2c(shape)) return;
    double *table = ALLOCATE(count, double);
    for (size_t i = 0; i < count; i++) table[i] = (double)values[0][TABLE][i];
    sink(to, &(PositionTable){.name = "table",
                              .rank = 2,
                              .dims = {rows_of_table(shape), width},
                              .axes = {options_of(shape)->buckets ? "bucket" : "distance",
                                       "channel"},
                              .values = table,
                              .kind = "learned",
                              .convention = "row r is for the distance (with buckets: the bucket) "
                                            "r - half the rows; first and last for all beyond",
                              .unit = "",
                              .counted = TABLE});
    free(table);
}

const Encoding encoding_deberta = {
    .name = "deberta",
    .summary = "learned vectors by distance meet q and k through projections of their own",
    .source = "He et al. 2020 (arXiv 2006.03654), equations 2 to 4",
    .options = options,
    .options_size = sizeof(DebertaOptions),
    .needs_whole_positions = true,
    .parameters = parameters,
    .refuse = refuse,
    .scale = scale,
    .table_size = table_size,
    .prepared_size = prepared_size,
    .slot_size = slot_size,
    .row_scratch = row_scratch,
    .begin = begin,
    .prepare = prepare,
    .prepare_backward = prepare_backward,
    .open = open,
    .open_backward = open_backward,
    .score = score,
    .score_backward = score_backward,
    .tables = tables,
};
