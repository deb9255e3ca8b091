/* Tiled attention with online softmax (Milakov & Gimelshein 2018; Dao et al. 2022) for one item and
   head. Nothing of size length x length is stored: backward recomputes each tile of scores from
   the packed operands and the log-sum-exp of its row. The hooks of the encoding are called as
   encodings/encoding.h says. */
#include "src/model/engine.h"

#include "src/gemm.h"
#include "src/simd.h"

#include <string.h>

/* One query block against one tile of keys. */
typedef struct {
    const Place *at;
    const Engine *engine;
    const Encoding *encoding;
    const Pack *pack;
    const int32_t *segments; /* of the item, or NULL */
    Site site;
    QueryBlock block;
    KeyTile tile;
    size_t keys;     /* columns of the tile that are tokens */
    size_t products; /* columns that products cover: tile.columns, a multiple of 16 */
} Tile;

/* ---- packing ----------------------------------------------------------------------------- */

static void copy_rows(real *to, const real *from, size_t stride, size_t rows, size_t width) {
    for (size_t row = 0; row < rows; row++) {
        fetch_to_read(from + (row + ROWS_AHEAD) * stride, width);
        memcpy(to + row * width, from + row * stride, width * sizeof(real));
    }
}

static void transpose_tiles(real *to, const real *from, size_t rows, size_t width) {
    for (size_t first = 0; first < rows; first += KEY_COLUMNS)
        gemm_transpose(to + first * width, KEY_COLUMNS, from + first * width, width,
                       least(rows - first, KEY_COLUMNS), width);
}

static void dump_rows(real *const *to, const Place *at, int layer, int head, const real *from,
                      size_t width) {
    if (!to[layer]) return;
    const size_t length = at->engine->batch.length;
    const size_t unit = at->item * (size_t)at->engine->model->shape.heads + (size_t)head;
    memcpy(to[layer] + unit * length * width, from, length * width * sizeof(real));
}

void attention_pack(const Place *at, int layer, int head, Pack *pack) {
    const Engine *engine = at->engine;
    const Encoding *encoding = engine->model->shape.encoding;
    const size_t width = (size_t)engine->model->shape.width;
    const size_t d = (size_t)engine->model->encoding_shape.head_width;
    const size_t w = (size_t)engine->model->encoding_shape.qk_width;
    const size_t length = engine->batch.length, padded = engine->length_padded;
    const Site site = engine_site(engine, layer, head, at->item);
    const real *q = at->acts->qkv + place_row(at, layer, 0) * 3 * width + (size_t)head * d;
    const real *k = q + width, *v = k + width;

    if (encoding->rotate) {
        encoding->rotate(&site, ROTATE_QUERY, 0, length, q, 3 * width, pack->q);
        encoding->rotate(&site, ROTATE_KEY, 0, length, k, 3 * width, pack->k);
    } else {
        copy_rows(pack->q, q, 3 * width, length, w);
        copy_rows(pack->k, k, 3 * width, length, w);
    }
    copy_rows(pack->v, v, 3 * width, length, d);
    if (engine->output.dump) {
        dump_rows(engine->output.dump->q, at, layer, head, pack->q, w);
        dump_rows(engine->output.dump->k, at, layer, head, pack->k, w);
        dump_rows(engine->output.dump->v, at, layer, head, pack->v, d);
    }
    const real scale = (real)engine->scale;
    for (size_t i = 0; i < length * w; i++) pack->q[i] *= scale;
    memset(pack->q + length * w, 0, (padded - length) * w * sizeof(real));
    memset(pack->k + length * w, 0, (padded - length) * w * sizeof(real));
    memset(pack->v + length * d, 0, (padded - length) * d * sizeof(real));
    transpose_tiles(pack->kt, pack->k, padded, w);
    if (engine->training) transpose_tiles(pack->vt, pack->v, padded, d);

    if (encoding->scan) {
        const size_t heads = (size_t)engine->model->shape.heads;
        const size_t gates = (size_t)encoding->gates, scans = (size_t)encoding->scans;
        double *scan = at->acts->scan + place_unit(at, layer, head) * padded * scans;
        encoding->scan(&site,
                       at->acts->gate + place_row(at, layer, 0) * heads * gates +
                           (size_t)head * gates,
                       heads * gates, scan);
        memset(scan + length * scans, 0, (padded - length) * scans * sizeof(double));
    }
}

/* ---- a tile of scores --------------------------------------------------------------------- */

static Tile open_block(const Place *at, int layer, int head, const Pack *pack, size_t block) {
    const Engine *engine = at->engine;
    const Model *model = engine->model;
    const Encoding *encoding = model->shape.encoding;
    const size_t w = (size_t)model->encoding_shape.qk_width;
    const size_t first = block * (size_t)engine->query_rows;
    const size_t length = engine->batch.length;
    Tile t = {.at = at,
              .engine = engine,
              .encoding = encoding,
              .pack = pack,
              .site = engine_site(engine, layer, head, at->item)};
    if (engine->batch.segments) t.segments = engine->batch.segments + at->item * length;
    t.block = (QueryBlock){.first = first,
                           .rows = (int)least((size_t)engine->query_rows, length - first),
                           .q = pack->q + first * w,
                           .scratch = at->scratch->row,
                           .carry = at->scratch->carry};
    t.tile.stride = KEY_COLUMNS;
    t.tile.scratch = at->scratch->scratch;
    if (encoding->scan) {
        const double *scan = at->acts->scan + place_unit(at, layer, head) * engine->length_padded *
                                                  (size_t)encoding->scans;
        t.block.scans = scan + first * (size_t)encoding->scans;
    }
    if (encoding->open) encoding->open(&t.site, &t.block);
    return t;
}

/* Tiles that the block can see: from *lowest to the result, both included. */
static size_t highest_tile(const Tile *t) {
    const size_t last = t->engine->model->shape.causal
                            ? t->block.first + (size_t)t->block.rows - 1
                            : t->engine->batch.length - 1;
    return last / KEY_COLUMNS;
}

/* A tile is outside the window when even its nearest pair of positions is. */
static bool outside_window(const Tile *t, size_t index) {
    const Encoding *encoding = t->encoding;
    if (!encoding->window) return false;
    const size_t window = encoding->window(t->site.shape, t->site.head);
    if (window == SIZE_MAX) return false;
    const double *positions = t->site.positions;
    const size_t first = index * KEY_COLUMNS;
    const size_t end = least(first + KEY_COLUMNS, t->engine->batch.length);
    double lowest = positions[t->block.first], highest = positions[first];
    for (size_t r = 1; r < (size_t)t->block.rows; r++) {
        const double query = positions[t->block.first + r];
        lowest = query < lowest ? query : lowest;
    }
    for (size_t c = first + 1; c < end; c++)
        highest = positions[c] > highest ? positions[c] : highest;
    return lowest - highest >= (double)window;
}

/* Tokens of the tile that row r may see by order alone. */
static size_t row_limit(const Tile *t, size_t r) {
    if (!t->engine->model->shape.causal) return t->keys;
    const size_t token = t->block.first + r;
    return token < t->tile.first ? 0 : least(token - t->tile.first + 1, t->keys);
}

static void move_to_tile(Tile *t, size_t index) {
    const Engine *engine = t->engine;
    const size_t w = (size_t)engine->model->encoding_shape.qk_width;
    const size_t scans = (size_t)t->encoding->scans;
    t->tile.first = index * KEY_COLUMNS;
    size_t end = least(t->tile.first + KEY_COLUMNS, engine->batch.length);
    if (engine->model->shape.causal)
        end = least(end, t->block.first + (size_t)t->block.rows);
    t->keys = end - t->tile.first;
    t->tile.keys = (int)t->keys;
    t->products = round_up(t->keys, GEMM_ROWS);
    t->tile.columns = (int)t->products;
    t->tile.k = t->pack->k + t->tile.first * w;
    t->tile.kt = t->pack->kt + t->tile.first * w;
    if (t->encoding->scan) t->tile.scans = t->block.scans - t->block.first * scans +
                                           t->tile.first * scans;
}

/* Distances of row r to the keys of the tile. */
static void distances(const Tile *t, size_t r, size_t count, double *distance) {
    const double query = t->site.positions[t->block.first + r];
    const double *keys = t->site.positions + t->tile.first;
    for (size_t c = 0; c < count; c++) distance[c] = query - keys[c];
}

static const real *bias_row(const Tile *t) {
    const size_t unit = (size_t)t->site.layer * (size_t)t->site.shape->heads + (size_t)t->site.head;
    return t->engine->bias_rows + unit * t->engine->span;
}

/* The entry of a bias row for row r and column 0 when positions rise by one. */
static size_t bias_start(const Tile *t, size_t r) {
    const double distance = t->site.positions[t->block.first + r] -
                            t->site.positions[t->tile.first];
    return (size_t)(t->engine->distance_most - distance);
}

static void add_bias(const Tile *t, real *s) {
    const Engine *engine = t->engine;
    const real *row = bias_row(t);
    double *distance = t->at->scratch->distance;
    real *gather = t->at->scratch->gather;
    for (size_t r = 0; r < (size_t)t->block.rows; r++, s += KEY_COLUMNS) {
        const size_t limit = row_limit(t, r);
        if (!limit) continue;
        switch (engine->bias_path) {
        case BIAS_ROW: {
            const real *from = row + bias_start(t, r);
            for (size_t c = 0; c < limit; c++) s[c] += from[c];
            break;
        }
        case BIAS_GATHER:
            distances(t, r, limit, distance);
            for (size_t c = 0; c < limit; c++)
                s[c] += row[(size_t)(engine->distance_most - distance[c])];
            break;
        default:
            distances(t, r, limit, distance);
            t->encoding->bias(&t->site, limit, distance, gather);
            for (size_t c = 0; c < limit; c++) s[c] += gather[c];
        }
    }
}

/* d bias from ds: by distance into the unit's sums, or through the function score by score. */
static void add_bias_backward(const Tile *t, const real *ds, size_t unit) {
    Engine *engine = t->at->engine;
    double *sums = engine->unit_distances ? engine->unit_distances + unit * engine->span : NULL;
    double *distance = t->at->scratch->distance, *ddistance = t->at->scratch->ddistance;
    const size_t rows = (size_t)t->block.rows;
    if (engine->bias_path == BIAS_ROW) {
        /* Along the diagonals of the tile in `real` first: entry rows - 1 - r + c. */
        real *window = t->at->scratch->gather;
        memset(window, 0, (rows + KEY_COLUMNS) * sizeof(real));
        for (size_t r = 0; r < rows; r++) {
            const size_t limit = row_limit(t, r);
            real *to = window + (rows - 1 - r);
            const real *from = ds + r * KEY_COLUMNS;
            for (size_t c = 0; c < limit; c++) to[c] += from[c];
        }
        /* entries that no visible pair reaches lie outside the row; they are zero */
        const double start = engine->distance_most -
                             (t->site.positions[t->block.first + rows - 1] -
                              t->site.positions[t->tile.first]);
        const size_t from = (size_t)start;
        const size_t count = least(rows - 1 + t->keys, engine->span - from);
        for (size_t n = 0; n < count; n++) sums[from + n] += (double)window[n];
        return;
    }
    for (size_t r = 0; r < rows; r++, ds += KEY_COLUMNS) {
        const size_t limit = row_limit(t, r);
        if (!limit) continue;
        distances(t, r, limit, distance);
        if (engine->bias_path == BIAS_GATHER) {
            for (size_t c = 0; c < limit; c++)
                sums[(size_t)(engine->distance_most - distance[c])] += (double)ds[c];
            continue;
        }
        const Model *model = engine->model;
        real *gradients[ENCODING_PARAMETERS];
        real *base = engine->unit_parameters +
                     (unit % (engine->sharers * (size_t)model->shape.heads * engine->groups)) *
                         (model->count - engine->encoding_from);
        for (int k = 0; k < ENCODING_PARAMETERS; k++)
            gradients[k] =
                base + (model->layers[t->site.layer].encoding[k] - engine->encoding_from);
        for (size_t c = 0; c < limit; c++) ddistance[c] = (double)ds[c];
        t->encoding->bias_backward(&t->site, limit, distance, ddistance, gradients);
    }
}

/* -inf wherever a row may not look. */
static void mask(const Tile *t, real *s) {
    const real never = -(real)INFINITY;
    size_t window = t->encoding->window ? t->encoding->window(t->site.shape, t->site.head) : 0;
    if (window == SIZE_MAX) window = 0; /* this head has none */
    for (size_t r = 0; r < (size_t)t->block.rows; r++, s += KEY_COLUMNS) {
        const size_t limit = row_limit(t, r);
        for (size_t c = limit; c < t->products; c++) s[c] = never;
        if (t->segments) {
            const int32_t own = t->segments[t->block.first + r];
            const int32_t *keys = t->segments + t->tile.first;
            for (size_t c = 0; c < limit; c++)
                if (own < 0 || keys[c] != own) s[c] = never;
        }
        if (window) {
            const double query = t->site.positions[t->block.first + r];
            const double *keys = t->site.positions + t->tile.first;
            for (size_t c = 0; c < limit; c++) {
                const double distance = query - keys[c];
                if (distance < 0 || distance >= (double)window) s[c] = never;
            }
        }
    }
}

/* s[rows, products] of the tile, complete: the same routine for forward, backward and dumps. */
static void scores(Tile *t, real *s, bool again) {
    const size_t w = (size_t)t->site.shape->qk_width;
    gemm((size_t)t->block.rows, t->products, w, t->block.q, w, t->tile.kt, KEY_COLUMNS, 0, s,
         KEY_COLUMNS);
    if (t->encoding->bias) add_bias(t, s);
    mask(t, s);
    t->tile.again = again;
    if (t->encoding->score) t->encoding->score(&t->site, &t->block, &t->tile, s);
}

/* ---- forward ------------------------------------------------------------------------------ */

/* NaN is no score either, but it must not be taken for one that is masked. */
static bool all_masked(const real *s, size_t count) {
    bool masked = true;
    for (size_t c = 0; c < count; c++) masked &= s[c] == -(real)INFINITY;
    return masked;
}

/* Row by row: s becomes exp(s - running maximum); o and the running sum follow the maximum. */
static void online_softmax(const Tile *t, real *s, real *o, real *most_so_far, double *sum_so_far,
                           size_t d) {
    const real never = -(real)INFINITY;
    for (size_t r = 0; r < (size_t)t->block.rows; r++, s += KEY_COLUMNS, o += d) {
        /* columns that the row can see, in whole vectors; behind them the probability is 0 */
        const size_t seen = least(round_up(row_limit(t, r), LANES), t->products);
        Lanes highest = lanes_all(never);
        for (size_t c = 0; c < seen; c += LANES) highest = lanes_most(lanes_load(s + c), highest);
        real top = lanes_greatest(highest);
        top = top > most_so_far[r] ? top : most_so_far[r];
        if (top == never && all_masked(s, seen)) { /* nothing visible yet */
            memset(s, 0, t->products * sizeof(real));
            continue;
        }
        const real shift = top * LOG2E;
        Lanes sum = {0};
        for (size_t c = 0; c < seen; c += LANES) {
            const Lanes p = lanes_exp2(lanes_load(s + c) * LOG2E - shift);
            lanes_store(s + c, p);
            sum += p;
        }
        memset(s + seen, 0, (t->products - seen) * sizeof(real));
        if (top != most_so_far[r]) {
            const real factor = real_exp2((most_so_far[r] - top) * LOG2E);
            for (size_t c = 0; c < d; c++) o[c] *= factor;
            sum_so_far[r] *= (double)factor;
            most_so_far[r] = top;
        }
        sum_so_far[r] += (double)lanes_sum(sum);
    }
}

/* The dump's rows of this block, [rows, length]. */
static real *dump_block(const Tile *t, real *const *to) {
    const size_t length = t->engine->batch.length;
    const size_t unit = t->at->item * (size_t)t->site.shape->heads + (size_t)t->site.head;
    return to[t->site.layer] ? to[t->site.layer] + (unit * length + t->block.first) * length : NULL;
}

static void dump_tile(const Tile *t, real *const *to, const real *from) {
    const size_t length = t->engine->batch.length;
    real *rows = dump_block(t, to);
    for (size_t r = 0; rows && r < (size_t)t->block.rows; r++)
        memcpy(rows + r * length + t->tile.first, from + r * KEY_COLUMNS, t->keys * sizeof(real));
}

static void dump_fill(const Tile *t, real *const *to, real value) {
    real *rows = dump_block(t, to);
    for (size_t i = 0; rows && i < (size_t)t->block.rows * t->engine->batch.length; i++)
        rows[i] = value;
}

void attention_forward(const Place *at, int layer, int head, const Pack *pack, size_t block) {
    const Engine *engine = at->engine;
    const Encoding *encoding = engine->model->shape.encoding;
    const size_t width = (size_t)engine->model->shape.width;
    const size_t d = (size_t)engine->model->encoding_shape.head_width;
    const size_t carries = (size_t)encoding->carries;
    const real never = -(real)INFINITY;
    const ModelDump *dump = engine->output.dump;
    real *s = at->scratch->score, *o = at->scratch->o;
    real most_so_far[QUERY_ROWS];
    double sum_so_far[QUERY_ROWS];

    Tile t = open_block(at, layer, head, pack, block);
    const size_t rows = (size_t)t.block.rows, unit = place_unit(at, layer, head);
    for (size_t r = 0; r < rows; r++) most_so_far[r] = never, sum_so_far[r] = 0;
    memset(o, 0, QUERY_ROWS * d * sizeof(real));
    if (carries) memset(t.block.carry, 0, rows * carries * sizeof(double));
    if (dump) {
        dump_fill(&t, dump->score, never);
        dump_fill(&t, dump->probability, encoding->normalise ? 0 : never);
    }

    for (size_t index = highest_tile(&t) + 1; index-- > 0;) {
        if (outside_window(&t, index)) continue;
        move_to_tile(&t, index);
        scores(&t, s, false);
        if (dump) dump_tile(&t, dump->score, s);
        if (encoding->normalise) {
            encoding->normalise(&t.site, &t.block, &t.tile, s);
            if (dump) dump_tile(&t, dump->probability, s);
        } else {
            if (dump) dump_tile(&t, dump->probability, s); /* scores, until lse is known */
            online_softmax(&t, s, o, most_so_far, sum_so_far, d);
        }
        gemm(rows, d, t.products, s, KEY_COLUMNS, pack->v + t.tile.first * d, d, 1, o, d);
        if (encoding->value) encoding->value(&t.site, &t.block, &t.tile, s, o);
    }

    real *out = at->acts->o + place_row(at, layer, t.block.first) * width + (size_t)head * d;
    real *lse = at->acts->lse + unit * engine->length_padded + t.block.first;
    for (size_t r = 0; r < rows; r++) {
        const bool empty = !encoding->normalise && !(sum_so_far[r] > 0) &&
                           !(sum_so_far[r] != sum_so_far[r]);
        const real share = encoding->normalise ? 1 : empty ? 0 : (real)(1 / sum_so_far[r]);
        for (size_t c = 0; c < d; c++) out[r * width + c] = o[r * d + c] * share;
        lse[r] = encoding->normalise ? 0
                 : empty             ? (real)INFINITY
                                     : (real)((double)most_so_far[r] + log(sum_so_far[r]));
    }
    if (carries)
        memcpy(at->acts->carry + (unit * engine->length_padded + t.block.first) * carries,
               t.block.carry, rows * carries * sizeof(double));

    real *probability = dump && !encoding->normalise ? dump_block(&t, dump->probability) : NULL;
    for (size_t i = 0; probability && i < rows * engine->batch.length; i++)
        probability[i] =
            (real)exp((double)probability[i] - (double)lse[i / engine->batch.length]);
}

/* ---- backward ----------------------------------------------------------------------------- */

/* p = exp(s - lse) in place, dp in place to ds = p (dp - delta). */
static void softmax_backward(const Tile *t, real *s, real *dp, const real *lse,
                             const real *delta) {
    for (size_t r = 0; r < (size_t)t->block.rows; r++, s += KEY_COLUMNS, dp += KEY_COLUMNS) {
        const size_t seen = least(round_up(row_limit(t, r), LANES), t->products);
        const real shift = lse[r] * LOG2E, mean = delta[r];
        for (size_t c = 0; c < seen; c += LANES) {
            const Lanes p = lanes_exp2(lanes_load(s + c) * LOG2E - shift);
            lanes_store(s + c, p);
            lanes_store(dp + c, p * (lanes_load(dp + c) - mean));
        }
        memset(s + seen, 0, (t->products - seen) * sizeof(real));
        memset(dp + seen, 0, (t->products - seen) * sizeof(real));
    }
}

/* p alone, where value_backward must see it before dp is turned. */
static void probabilities(const Tile *t, real *s, const real *lse) {
    for (size_t r = 0; r < (size_t)t->block.rows; r++, s += KEY_COLUMNS)
        for (size_t c = 0; c < t->products; c += LANES)
            lanes_store(s + c, lanes_exp2(lanes_load(s + c) * LOG2E - lse[r] * LOG2E));
}

static void turn_dp(const Tile *t, const real *p, real *dp, const real *delta) {
    for (size_t r = 0; r < (size_t)t->block.rows; r++, p += KEY_COLUMNS, dp += KEY_COLUMNS)
        for (size_t c = 0; c < t->products; c += LANES)
            lanes_store(dp + c, lanes_load(p + c) * (lanes_load(dp + c) - delta[r]));
}

/* The unit of arrays [layers][sharers][heads][groups]. */
static size_t slot_unit(const Place *at, int layer, int head, size_t group) {
    const Engine *engine = at->engine;
    const size_t heads = (size_t)engine->model->shape.heads;
    return (((size_t)layer * engine->sharers + at->item % engine->sharers) * heads +
            (size_t)head) * engine->groups +
           group;
}
static real *slot_of(const Place *at, int layer, int head, size_t group) {
    const Engine *engine = at->engine;
    return engine->slot_size
               ? engine->unit_slots + slot_unit(at, layer, head, group) * engine->slot_size
               : NULL;
}

static void backward_block(const Place *at, int layer, int head, const Pack *pack, size_t block,
                           size_t group) {
    Engine *engine = at->engine;
    const Encoding *encoding = engine->model->shape.encoding;
    const size_t width = (size_t)engine->model->shape.width, padded = engine->length_padded;
    const size_t heads = (size_t)engine->model->shape.heads;
    const size_t d = (size_t)engine->model->encoding_shape.head_width;
    const size_t w = (size_t)engine->model->encoding_shape.qk_width;
    const size_t carries = (size_t)encoding->carries, scans = (size_t)encoding->scans;
    const size_t scratch_row =
        encoding->row_scratch ? (size_t)encoding->row_scratch(&engine->model->encoding_shape) : 0;
    Scratch *scratch = at->scratch;
    Activations *acts = at->acts;
    const size_t unit = place_unit(at, layer, head);
    const size_t pair = at->local * heads + (size_t)head; /* of arrays of one layer's worth */
    const size_t grouped = pair * engine->groups + group;
    real *slot = slot_of(at, layer, head, group);

    Tile t = open_block(at, layer, head, pack, block);
    const size_t first = t.block.first, rows = (size_t)t.block.rows;
    const real *o = acts->o + place_row(at, layer, first) * width + (size_t)head * d;
    const real *d_o_rows = acts->d_o + (at->local * padded + first) * width + (size_t)head * d;
    const real *lse = acts->lse + unit * padded + first;
    real *s = scratch->score, *dp = scratch->dscore, *d_o = scratch->d_o;
    real *dk = acts->dk + grouped * padded * w, *dv = acts->dv + grouped * padded * d;
    real delta[QUERY_ROWS];
    for (size_t r = 0; r < rows; r++) {
        double sum = 0;
        for (size_t c = 0; c < d; c++) {
            d_o[r * d + c] = d_o_rows[r * width + c];
            sum += (double)(d_o[r * d + c] * o[r * width + c]);
        }
        delta[r] = (real)sum;
    }
    t.block.dq = acts->dq + (pair * padded + first) * w;
    t.block.dscratch = scratch->drow;
    t.block.dcarry = scratch->dcarry;
    memset(t.block.dq, 0, rows * w * sizeof(real));
    if (scratch_row) memset(scratch->drow, 0, rows * scratch_row * sizeof(real));
    if (carries) {
        memcpy(t.block.carry, acts->carry + (unit * padded + first) * carries,
               rows * carries * sizeof(double));
        memset(t.block.dcarry, 0, rows * carries * sizeof(double));
    }
    double *dscan = scans ? acts->dscan + grouped * padded * scans : NULL;
    if (scans) t.block.dscans = dscan + first * scans;

    for (size_t index = 0; index <= highest_tile(&t); index++) {
        if (outside_window(&t, index)) continue;
        move_to_tile(&t, index);
        real *dkt = dk + t.tile.first * w, *dvt = dv + t.tile.first * d;
        t.tile.dk = dkt;
        if (scans) t.tile.dscans = dscan + t.tile.first * scans;
        scores(&t, s, true);
        gemm(rows, t.products, d, d_o, d, pack->vt + t.tile.first * d, KEY_COLUMNS, 0, dp,
             KEY_COLUMNS);
        const bool fused = !encoding->normalise && !encoding->value_backward;
        if (fused) softmax_backward(&t, s, dp, lse, delta);
        else if (encoding->normalise) encoding->normalise(&t.site, &t.block, &t.tile, s);
        else probabilities(&t, s, lse);
        if (encoding->value_backward)
            encoding->value_backward(&t.site, &t.block, &t.tile, s, d_o, dp, slot);
        /* forward: o = p · v */
        gemm_transposed(t.products, d, rows, s, KEY_COLUMNS, d_o, d, 1, dvt, d);
        if (encoding->normalise)
            encoding->normalise_backward(&t.site, &t.block, &t.tile, s, dp);
        else if (!fused)
            turn_dp(&t, s, dp, delta);
        if (encoding->score_backward)
            encoding->score_backward(&t.site, &t.block, &t.tile, dp, slot);
        if (encoding->bias_backward) add_bias_backward(&t, dp, slot_unit(at, layer, head, group));
        /* forward: s = q · kᵀ */
        gemm(rows, w, t.products, dp, KEY_COLUMNS, t.tile.k, w, 1, t.block.dq, w);
        gemm_transposed(t.products, w, rows, dp, KEY_COLUMNS, t.block.q, w, 1, dkt, w);
    }
    if (encoding->open_backward) encoding->open_backward(&t.site, &t.block, slot);
}

void attention_backward(const Place *at, int layer, int head, const Pack *pack, size_t group) {
    Engine *engine = at->engine;
    const Encoding *encoding = engine->model->shape.encoding;
    const size_t padded = engine->length_padded;
    const size_t d = (size_t)engine->model->encoding_shape.head_width;
    const size_t w = (size_t)engine->model->encoding_shape.qk_width;
    const size_t scans = (size_t)encoding->scans;
    const size_t pair = at->local * (size_t)engine->model->shape.heads + (size_t)head;
    const size_t grouped = pair * engine->groups + group;
    memset(at->acts->dk + grouped * padded * w, 0, padded * w * sizeof(real));
    memset(at->acts->dv + grouped * padded * d, 0, padded * d * sizeof(real));
    if (scans) memset(at->acts->dscan + grouped * padded * scans, 0,
                      padded * scans * sizeof(double));
    const size_t unit = slot_unit(at, layer, head, group);
    const bool first = at->item < engine->sharers;
    if (engine->slot_size && first)
        memset(engine->unit_slots + unit * engine->slot_size, 0, engine->slot_size * sizeof(real));
    if (encoding->bias_backward && engine->bias_path != BIAS_SCORE && first)
        memset(engine->unit_distances + unit * engine->span, 0, engine->span * sizeof(double));
    for (size_t block = group; block < engine->query_blocks; block += engine->groups)
        backward_block(at, layer, head, pack, block, group);
}

void attention_finish(const Place *at, int layer, int head) {
    Engine *engine = at->engine;
    const Encoding *encoding = engine->model->shape.encoding;
    Activations *acts = at->acts;
    const size_t width = (size_t)engine->model->shape.width, padded = engine->length_padded;
    const size_t heads = (size_t)engine->model->shape.heads, length = engine->batch.length;
    const size_t d = (size_t)engine->model->encoding_shape.head_width;
    const size_t w = (size_t)engine->model->encoding_shape.qk_width;
    const size_t scans = (size_t)encoding->scans, groups = engine->groups;
    const size_t pair = at->local * heads + (size_t)head;
    real *dq = acts->dq + pair * padded * w;
    real *dk = acts->dk + pair * groups * padded * w, *dv = acts->dv + pair * groups * padded * d;
    double *dscan = scans ? acts->dscan + pair * groups * padded * scans : NULL;
    for (size_t group = 1; group < groups; group++) {
        for (size_t i = 0; i < length * w; i++) dk[i] += dk[group * padded * w + i];
        for (size_t i = 0; i < length * d; i++) dv[i] += dv[group * padded * d + i];
        for (size_t i = 0; i < length * scans; i++) dscan[i] += dscan[group * padded * scans + i];
    }
    const real scale = (real)engine->scale;
    for (size_t i = 0; i < length * w; i++) dq[i] *= scale;

    const Site site = engine_site(engine, layer, head, at->item);
    const real *q = acts->qkv + place_row(at, layer, 0) * 3 * width + (size_t)head * d;
    real *to = acts->dqkv + at->local * padded * 3 * width + (size_t)head * d;
    if (encoding->rotate) {
        real *slot = slot_of(at, layer, head, 0);
        encoding->rotate_backward(&site, ROTATE_QUERY, 0, length, q, 3 * width, dq, to, slot);
        encoding->rotate_backward(&site, ROTATE_KEY, 0, length, q + width, 3 * width, dk,
                                  to + width, slot);
    } else {
        for (size_t row = 0; row < length; row++) {
            memcpy(to + row * 3 * width, dq + row * w, w * sizeof(real));
            memcpy(to + row * 3 * width + width, dk + row * w, w * sizeof(real));
        }
    }
    for (size_t row = 0; row < length; row++) {
        real *dv_to = to + row * 3 * width + 2 * width;
        fetch_to_write(dv_to + ROWS_AHEAD * 3 * width, d);
        memcpy(dv_to, dv + row * d, d * sizeof(real));
    }

    if (encoding->scan_backward) {
        const size_t gates = (size_t)encoding->gates, stride = heads * gates;
        const size_t unit = place_unit(at, layer, head);
        const real *gate = acts->gate + place_row(at, layer, 0) * stride + (size_t)head * gates;
        real *dgate = acts->dgate + at->local * padded * stride + (size_t)head * gates;
        encoding->scan_backward(&site, gate, stride, acts->scan + unit * padded * scans, dscan,
                                dgate);
    }
}
