/* Linear attention (Katharopoulos et al. 2020, arXiv 2006.16236) with rotary positions (RoFormer,
   arXiv 2104.09864, section 3.3) for one item and head:

       o_i = sum_j (R_i f(q_i) . R_j f(k_j)) v_j / sum_j f(q_i) . f(k_j)            equation 19

   j over the tokens up to i, or over all of a bidirectional model. f is elu + 1 or exp. The
   numerator turns and the denominator does not, so weights may be negative and need not add up
   to 1. rotate = "before" turns q and k first, o_i = sum_j (f(R_i q_i) . f(R_j k_j)) v_j / sum_j of
   the same: what performer-pytorch does. q and k are not scaled by 1 / sqrt(d).

   Tokens are taken in chunks of LINEAR_ROWS. What the chunks before add comes from a state of d x d
   numbers, the sum of R_j f(k_j) v_j^T, which is double, as is the sum of f(k_j): what roundings
   take does not grow with the length. Inside a chunk weights are written out. Memory and time are
   linear in the length.

   exp: the largest channel of each query is subtracted from it, which cancels in o. A maximum over
   the keys would too, but then the rounding of early tokens would depend on later ones; keys are
   limited to KEY_MOST instead. The denominator counts as at least DENOMINATOR_LEAST, and where it
   is less it counts as a constant: with rotation the numerator can be far from 0 where the
   denominator is not. */
#include "src/model/engine.h"

#include "src/gemm.h"
#include "src/simd.h"

#include <stdio.h>
#include <string.h>

static const real KEY_MOST = 60;
static const double DENOMINATOR_LEAST = 1e-6;

static const Option linear_options[] = {
    {.name = "feature_map",
     .type = OPTION_CHOICE,
     .offset = offsetof(LinearOptions, feature_map),
     .fallback = FEATURE_ELU,
     .words = "elu|exp",
     .doc = "what is done to each channel of q and k: elu + 1 (Katharopoulos et al. 2020), or exp"},
    {.name = "rotate",
     .type = OPTION_CHOICE,
     .offset = offsetof(LinearOptions, rotate),
     .fallback = ROTATE_AFTER,
     .words = "after|before",
     .doc = "where an encoding that rotates does so: after the feature map and in the numerator "
            "alone (RoFormer, equation 19), or before it (performer-pytorch)"},
    {.name = NULL},
};

static const Kind softmax = {"softmax", "weights are a softmax of scores",
                             "Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.1", NULL, 0};
static const Kind linear = {
    "linear", "weights are products of features of q and k: time and memory linear in the length",
    "Katharopoulos et al. 2020 (arXiv 2006.16236); RoFormer (arXiv 2104.09864), equations 17-19",
    linear_options, sizeof(LinearOptions)};

const Kind *const attentions[] = {&softmax, &linear};
const size_t attention_count = sizeof attentions / sizeof *attentions;

const char *linear_refuse(const Encoding *e) {
    static char reason[160];
    const char *none = NULL, *does = NULL;
    if (e->qk_width) none = "room for wider features", does = "widens q and k";
    else if (e->bias || e->score || e->open) none = "scores", does = "adds to them";
    else if (e->normalise) none = "scores", does = "makes weights of them";
    else if (e->window) none = "scores", does = "leaves some out";
    else if (e->value) none = "weights of single keys", does = "adds to values by them";
    else if (e->gate || e->scan) none = "scores", does = "gates them";
    else if (e->rotate && e->parameters) none = "gradients for rotations", does = "learns one";
    if (!none) return NULL;
    snprintf(reason, sizeof reason, "linear attention has no %s: %s %s", none, e->name, does);
    return reason;
}

/* ---- a segment in chunks ------------------------------------------------------------------- */

/* Tokens that see each other, those of a segment of one item and head, and the chunk of them that
   is at work. Arrays of a chunk are [columns, d] and 0 behind `rows`. */
typedef struct {
    const Place *at;
    const LinearOptions *options;
    const Encoding *encoding;
    LinearScratch *s;
    Site site;
    size_t width, d;
    bool causal;
    bool turns_before, turns_after; /* the encoding rotates, before or after the feature map */
    /* rows of all tokens of the item, at the head's first channel */
    const real *qkv;    /* [.., 3 width]: q; k and v are width and 2 width on */
    real *o;            /* [.., width] */
    real *denominator;  /* [..] */
    const real *d_o;    /* [.., width]    (backward) */
    real *dqkv;         /* [.., 3 width]  (backward) */
    size_t count;       /* tokens of the segment */
    const int32_t *tokens; /* of the chunk */
    size_t rows, columns;  /* columns: rows in whole groups of GEMM_ROWS */
} Chunk;

static Chunk of_unit(const Place *at, int layer, int head) {
    const Model *model = at->engine->model;
    const Activations *acts = at->acts;
    const size_t padded = at->engine->length_padded, width = (size_t)model->shape.width;
    const size_t d = (size_t)model->encoding_shape.head_width, channel = (size_t)head * d;
    const size_t row = place_row(at, layer, 0), first = at->local * padded;
    const LinearOptions *options = model->shape.linear;
    const bool turns = model->shape.encoding->rotate != NULL;
    return (Chunk){.at = at,
                   .options = options,
                   .encoding = model->shape.encoding,
                   .s = &at->scratch->linear,
                   .site = engine_site(at->engine, layer, head, at->item),
                   .width = width,
                   .d = d,
                   .causal = model->shape.causal,
                   .turns_before = turns && options->rotate == ROTATE_BEFORE,
                   .turns_after = turns && options->rotate == ROTATE_AFTER,
                   .qkv = acts->qkv + row * 3 * width + channel,
                   .o = acts->o + row * width + channel,
                   .denominator = acts->lse + place_unit(at, layer, head) * padded,
                   .d_o = at->engine->training ? acts->d_o + first * width + channel : NULL,
                   .dqkv = at->engine->training ? acts->dqkv + first * 3 * width + channel : NULL};
}

/* The item's segments, or NULL. */
static const int32_t *segments_of(const Chunk *c) {
    const Batch *batch = &c->at->engine->batch;
    return batch->segments ? batch->segments + c->at->item * batch->length : NULL;
}

/* Takes the tokens of the segment that token `first` opens, in order; false when it opens none. */
static bool take_segment(Chunk *c, size_t first) {
    const int32_t *segments = segments_of(c);
    if (segments ? segments[first] < 0 : first > 0) return false;
    for (size_t t = first; segments && t-- > 0;)
        if (segments[t] == segments[first]) return false;
    c->count = 0;
    for (size_t t = first; t < c->site.length; t++)
        if (!segments || segments[t] == segments[first]) c->s->tokens[c->count++] = (int32_t)t;
    return true;
}

static size_t chunks(const Chunk *c) { return (c->count + LINEAR_ROWS - 1) / LINEAR_ROWS; }

static void move_to_chunk(Chunk *c, size_t index) {
    const size_t first = index * LINEAR_ROWS;
    c->tokens = c->s->tokens + first;
    c->rows = least(LINEAR_ROWS, c->count - first);
    c->columns = round_up(c->rows, GEMM_ROWS);
}

static void zero_behind(const Chunk *c, real *x) {
    memset(x + c->rows * c->d, 0, (c->columns - c->rows) * c->d * sizeof(real));
}

/* Rows of all tokens → those of the chunk, and back. */
static void gather(const Chunk *c, const real *from, size_t stride, real *to) {
    for (size_t r = 0; r < c->rows; r++)
        memcpy(to + r * c->d, from + (size_t)c->tokens[r] * stride, c->d * sizeof(real));
    zero_behind(c, to);
}
static void scatter(const Chunk *c, const real *from, real *to, size_t stride) {
    for (size_t r = 0; r < c->rows; r++)
        memcpy(to + (size_t)c->tokens[r] * stride, from + r * c->d, c->d * sizeof(real));
}

static void dump(const Chunk *c, real *const *to, const real *rows) {
    const size_t unit =
        c->at->item * (size_t)c->site.shape->heads + (size_t)c->site.head;
    if (to[c->site.layer])
        scatter(c, rows, to[c->site.layer] + unit * c->site.length * c->d, c->d);
}

/* ---- features ------------------------------------------------------------------------------ */

/* How many rows from r on are tokens that follow each other. */
static size_t run_of_tokens(const Chunk *c, size_t r) {
    size_t n = 1;
    while (r + n < c->rows && c->tokens[r + n] == c->tokens[r] + (int32_t)n) n++;
    return n;
}

static void rotate_forward(const Chunk *c, RotateSide side, const real *x, real *out) {
    for (size_t r = 0, n; r < c->rows; r += n) {
        n = run_of_tokens(c, r);
        c->encoding->rotate(&c->site, side, (size_t)c->tokens[r], n, x + r * c->d, c->d,
                            out + r * c->d);
    }
    zero_behind(c, out);
}

static void rotate_backward(const Chunk *c, RotateSide side, const real *x, const real *dout,
                            real *dx) {
    for (size_t r = 0, n; r < c->rows; r += n) {
        n = run_of_tokens(c, r);
        c->encoding->rotate_backward(&c->site, side, (size_t)c->tokens[r], n, x + r * c->d, c->d,
                                     dout + r * c->d, dx + r * c->d, NULL);
    }
}

static void map_forward(const Chunk *c, RotateSide side, real *x) {
    const Lanes zero = {0}, most = lanes_all(KEY_MOST);
    const bool elu = c->options->feature_map == FEATURE_ELU;
    for (size_t r = 0; !elu && side == ROTATE_QUERY && r < c->rows; r++) {
        real *row = x + r * c->d, top = row[0];
        for (size_t n = 1; n < c->d; n++) top = row[n] > top ? row[n] : top;
        for (size_t n = 0; n < c->d; n++) row[n] -= top;
    }
    for (size_t i = 0; i < c->columns * c->d; i += LANES) {
        const Lanes y = lanes_load(x + i);
        const IntLanes over = elu ? y > zero : y > most;
        const Lanes e = lanes_exp2(lanes_select(over, elu ? zero : most, y) * LOG2E);
        lanes_store(x + i, elu ? lanes_select(over, y + 1, e) : e);
    }
    zero_behind(c, x);
}

/* df → dx in place; f as forward left it: its slope is f below 0, and everywhere for exp. */
static void map_backward(const Chunk *c, const real *f, real *df) {
    const Lanes zero = {0}, one = lanes_all(1);
    const Lanes limit = lanes_exp2(lanes_all(KEY_MOST) * LOG2E);
    const bool elu = c->options->feature_map == FEATURE_ELU;
    for (size_t i = 0; i < c->columns * c->d; i += LANES) {
        const Lanes y = lanes_load(f + i);
        const Lanes slope = elu ? lanes_select(y < one, y, one) : lanes_select(y < limit, y, zero);
        lanes_store(df + i, lanes_load(df + i) * slope);
    }
}

/* q or k of the chunk → its features f, for the denominator. */
static void features(const Chunk *c, RotateSide side, real *f) {
    gather(c, side == ROTATE_QUERY ? c->qkv : c->qkv + c->width, 3 * c->width,
           c->turns_before ? c->s->raw : f);
    if (c->turns_before) rotate_forward(c, side, c->s->raw, f);
    map_forward(c, side, f);
}

/* Returns what meets in the numerator: f too, or f turned, in `turned`. */
static const real *features_forward(const Chunk *c, RotateSide side, real *f, real *turned) {
    features(c, side, f);
    if (c->turns_after) rotate_forward(c, side, f, turned);
    const ModelDump *to = c->at->engine->output.dump;
    if (to) dump(c, side == ROTATE_QUERY ? to->q : to->k, c->turns_after ? turned : f);
    return c->turns_after ? turned : f;
}

/* df, from the denominator, and dturned, from the numerator → rows of q or k in dqkv. Both are
   overwritten. s->raw is what forward left there for this side. */
static void features_backward(const Chunk *c, RotateSide side, const real *f, real *df,
                              real *dturned) {
    const real *more = dturned;
    if (c->turns_after) {
        rotate_backward(c, side, f, dturned, c->s->raw);
        more = c->s->raw;
    }
    for (size_t i = 0; i < c->rows * c->d; i++) df[i] += more[i];
    map_backward(c, f, df);
    if (c->turns_before) rotate_backward(c, side, c->s->raw, df, dturned);
    scatter(c, c->turns_before ? dturned : df, side == ROTATE_QUERY ? c->dqkv : c->dqkv + c->width,
            3 * c->width);
}

static const real *values(const Chunk *c) {
    gather(c, c->qkv + 2 * c->width, 3 * c->width, c->s->v);
    if (c->at->engine->output.dump) dump(c, c->at->engine->output.dump->v, c->s->v);
    return c->s->v;
}

/* ---- what other chunks add ------------------------------------------------------------------ */

static void sum_changed(const Chunk *c) { c->s->known[0] = c->s->known[1] = false; }

static void clear_state(const Chunk *c) {
    memset(c->s->sum, 0, c->d * c->d * sizeof(double));
    memset(c->s->total, 0, c->d * sizeof(double));
    sum_changed(c);
}

/* sum[d, d] += aT b over the rows of the chunk. */
static void add_products(const Chunk *c, const real *a, const real *b) {
    gemm_transposed(c->d, c->d, c->rows, a, c->d, b, c->d, 0, c->s->product, c->d);
    for (size_t i = 0; i < c->d * c->d; i++) c->s->sum[i] += (double)c->s->product[i];
    sum_changed(c);
}

/* total[d] += factor * row. */
static void add_row(const Chunk *c, double factor, const real *row) {
    for (size_t n = 0; n < c->d; n++) c->s->total[n] += factor * (double)row[n];
}

/* The sum as an operand: sum[d, d] itself or transposed. */
static const real *state(const Chunk *c, bool transposed) {
    const size_t d = c->d, row = transposed ? 1 : d, column = transposed ? d : 1;
    real *to = c->s->state[transposed];
    for (size_t r = 0; !c->s->known[transposed] && r < d; r++)
        for (size_t n = 0; n < d; n++) to[r * d + n] = (real)c->s->sum[r * row + n * column];
    c->s->known[transposed] = true;
    return to;
}

/* p[rows, LINEAR_ROWS] = a bT within the chunk, 0 where a row may not look. */
static void causal_products(const Chunk *c, const real *a, const real *b, real *p) {
    gemm_transpose(c->s->transposed, LINEAR_ROWS, b, c->d, c->columns, c->d);
    gemm(c->rows, c->columns, c->d, a, c->d, c->s->transposed, LINEAR_ROWS, 0, p, LINEAR_ROWS);
    for (size_t r = 0; r < c->rows; r++)
        memset(p + r * LINEAR_ROWS + r + 1, 0, (c->columns - r - 1) * sizeof(real));
}

/* Sums of all keys of the segment, for a model that looks both ways. */
static void sum_keys(Chunk *c) {
    for (size_t index = 0; index < chunks(c); index++) {
        move_to_chunk(c, index);
        const real *k = features_forward(c, ROTATE_KEY, c->s->k, c->s->turned_k);
        add_products(c, k, values(c));
        for (size_t r = 0; r < c->rows; r++) add_row(c, 1, c->s->k + r * c->d);
    }
}

/* ---- forward and backward of a segment ------------------------------------------------------- */

/* 1 / denominator. NaN stays NaN. */
static double share_of(double denominator) {
    return 1 / (denominator < DENOMINATOR_LEAST ? DENOMINATOR_LEAST : denominator);
}

static void segment_forward(Chunk *c) {
    LinearScratch *s = c->s;
    const size_t d = c->d;
    clear_state(c);
    if (!c->causal) sum_keys(c);
    for (size_t index = 0; index < chunks(c); index++) {
        move_to_chunk(c, index);
        const real *q = features_forward(c, ROTATE_QUERY, s->q, s->turned_q), *k = NULL, *v = NULL;
        gemm(c->rows, d, d, q, d, state(c, false), d, 0, s->out, d);
        if (c->causal) {
            k = features_forward(c, ROTATE_KEY, s->k, s->turned_k);
            v = values(c);
            causal_products(c, q, k, s->p);
            gemm(c->rows, d, c->columns, s->p, LINEAR_ROWS, v, d, 1, s->out, d);
        }
        for (size_t r = 0; r < c->rows; r++) {
            if (c->causal) add_row(c, 1, s->k + r * d);
            const real *row = s->q + r * d;
            double denominator = 0;
#pragma omp simd reduction(+ : denominator)
            for (size_t n = 0; n < d; n++) denominator += (double)row[n] * s->total[n];
            const real share = (real)share_of(denominator);
            c->denominator[c->tokens[r]] = (real)denominator;
            for (size_t n = 0; n < d; n++) s->out[r * d + n] *= share;
        }
        scatter(c, s->out, c->o, c->width);
        if (c->causal) add_products(c, k, v);
    }
}

/* d numerator → g[columns, d]; d denominator → ddenominator[rows]. */
static const real *gradient(const Chunk *c) {
    LinearScratch *s = c->s;
    gather(c, c->d_o, c->width, s->g);
    for (size_t r = 0; r < c->rows; r++) {
        const real *o = c->o + (size_t)c->tokens[r] * c->width;
        const double denominator = (double)c->denominator[c->tokens[r]];
        const double share = share_of(denominator);
        real *g = s->g + r * c->d;
        double sum = 0;
        for (size_t n = 0; n < c->d; n++) {
            sum += (double)g[n] * (double)o[n];
            g[n] *= (real)share;
        }
        s->ddenominator[r] = denominator < DENOMINATOR_LEAST ? 0 : -sum * share;
    }
    return s->g;
}

/* dq, chunk by chunk from the first: a query reads the keys before it. */
static void queries_backward(Chunk *c) {
    LinearScratch *s = c->s;
    const size_t d = c->d;
    clear_state(c);
    if (!c->causal) sum_keys(c);
    for (size_t index = 0; index < chunks(c); index++) {
        move_to_chunk(c, index);
        const real *g = gradient(c);
        gemm(c->rows, d, d, g, d, state(c, true), d, 0, s->out, d);
        if (c->causal) {
            const real *k = features_forward(c, ROTATE_KEY, s->k, s->turned_k), *v = values(c);
            causal_products(c, g, v, s->p);
            gemm(c->rows, d, c->columns, s->p, LINEAR_ROWS, k, d, 1, s->out, d);
            add_products(c, k, v);
        }
        features(c, ROTATE_QUERY, s->q);
        for (size_t r = 0; r < c->rows; r++) {
            if (c->causal) add_row(c, 1, s->k + r * d);
            for (size_t n = 0; n < d; n++)
                s->df[r * d + n] = (real)(s->ddenominator[r] * s->total[n]);
        }
        features_backward(c, ROTATE_QUERY, s->q, s->df, s->out);
    }
}

/* dk and dv, from the last chunk: a key is read by the queries behind it. */
static void keys_backward(Chunk *c) {
    LinearScratch *s = c->s;
    const size_t d = c->d;
    clear_state(c);
    for (size_t index = 0; !c->causal && index < chunks(c); index++) {
        move_to_chunk(c, index);
        const real *q = features_forward(c, ROTATE_QUERY, s->q, s->turned_q);
        add_products(c, q, gradient(c));
        for (size_t r = 0; r < c->rows; r++) add_row(c, s->ddenominator[r], s->q + r * d);
    }
    for (size_t index = chunks(c); index-- > 0;) {
        move_to_chunk(c, index);
        const real *q = NULL, *g = NULL, *v = values(c);
        if (c->causal) {
            q = features_forward(c, ROTATE_QUERY, s->q, s->turned_q);
            g = gradient(c);
        }
        const real *k = features_forward(c, ROTATE_KEY, s->k, s->turned_k);
        gemm(c->rows, d, d, k, d, state(c, false), d, 0, s->out, d);
        if (c->causal) {
            causal_products(c, q, k, s->p);
            gemm_transposed(c->rows, d, c->rows, s->p, LINEAR_ROWS, g, d, 1, s->out, d);
        }
        scatter(c, s->out, c->dqkv + 2 * c->width, 3 * c->width);
        gemm(c->rows, d, d, v, d, state(c, true), d, 0, s->out, d);
        if (c->causal) {
            causal_products(c, g, v, s->p);
            gemm_transposed(c->rows, d, c->rows, s->p, LINEAR_ROWS, q, d, 1, s->out, d);
            add_products(c, q, g);
        }
        for (size_t r = c->rows; r-- > 0;) {
            if (c->causal) add_row(c, s->ddenominator[r], s->q + r * d);
            for (size_t n = 0; n < d; n++) s->df[r * d + n] = (real)s->total[n];
        }
        features_backward(c, ROTATE_KEY, s->k, s->df, s->out);
    }
}

/* ---- one (item, head) ------------------------------------------------------------------------ */

/* The weight of every visible key, from the features that were dumped. */
static void dump_weights(const Chunk *c) {
    const ModelDump *to = c->at->engine->output.dump;
    const size_t length = c->site.length, d = c->d;
    const size_t unit = c->at->item * (size_t)c->site.shape->heads + (size_t)c->site.head;
    const int32_t *segments = segments_of(c);
    if (!to->probability[c->site.layer]) return;
    CHECK(to->q[c->site.layer] && to->k[c->site.layer], "weights are made of dumped q and k");
    const real *q = to->q[c->site.layer] + unit * length * d;
    const real *k = to->k[c->site.layer] + unit * length * d;
    real *p = to->probability[c->site.layer] + unit * length * length;
    for (size_t i = 0; i < length; i++)
        for (size_t j = 0; j < length; j++) {
            const bool apart = segments && (segments[i] < 0 || segments[i] != segments[j]);
            double weight = 0;
            for (size_t n = 0; n < d && !apart && !(c->causal && j > i); n++)
                weight += (double)q[i * d + n] * (double)k[j * d + n];
            p[i * length + j] = (real)(weight * share_of((double)c->denominator[i]));
        }
}

void linear_forward(const Place *at, int layer, int head) {
    Chunk c = of_unit(at, layer, head);
    const size_t length = c.site.length;
    for (size_t t = 0; segments_of(&c) && t < length; t++) {
        memset(c.o + t * c.width, 0, c.d * sizeof(real)); /* padding sees nothing */
        c.denominator[t] = 0;
    }
    for (size_t first = 0; first < length; first++)
        if (take_segment(&c, first)) segment_forward(&c);
    if (at->engine->output.dump) dump_weights(&c);
}

void linear_backward(const Place *at, int layer, int head) {
    Chunk c = of_unit(at, layer, head);
    const size_t length = c.site.length;
    for (size_t t = 0; segments_of(&c) && t < length; t++)
        for (size_t part = 0; part < 3; part++)
            memset(c.dqkv + (3 * t + part) * c.width, 0, c.d * sizeof(real));
    for (size_t first = 0; first < length; first++)
        if (take_segment(&c, first)) {
            queries_backward(&c);
            keys_backward(&c);
        }
}
