/* Untied positional encoding (Ke, He, Liu 2020, TUPE, arXiv 2006.15595; RoFormer's equation 9):
   words meet words and positions meet positions,

       score_ij = (q_i · k_j + (U_q norm(p_i)) · (U_k norm(p_j))) / sqrt(2 d)  [+ B_h(i - j)]

   with p[N, width] learned and U of each head; all layers share them. `relative` adds B, T5's bias:
   TUPE-R of the paper, TUPE-A without. This is attention on rows of twice the width, [q, U_q norm]
   and [k, U_k norm]; what is made of p is made once a head, not once a sequence.

   norm is a layer norm, as in the authors' code; there it has a gain and a shift, and U_q and U_k
   biases. A gain is one with U; the others, which the paper has not, would add a bias by key. Not
   here either: scores of their own for the first token ([CLS], "untied"), which is not a place in
   the middle of a sentence there, while here it is where the sequence starts. */
#include "encodings/bias.h"
#include "encodings/buckets.h"
#include "encodings/rows.h"
#include "src/gemm.h"
#include "src/simd.h"

enum { PAST_ERROR, PAST_CLAMP, PAST_INTERPOLATE };
enum { TABLE, QUERY, KEY, BIAS };

typedef struct {
    int64_t positions, buckets, max_distance;
    double init_std;
    int past_end;
    bool relative;
} TupeOptions;

static const Option options[] = {
    {.name = "positions", .type = OPTION_INTEGER, .offset = offsetof(TupeOptions, positions),
     .fallback = 0, .min = 0, .max = 1 << 24,
     .doc = "rows of the table; 0: the longest length of training"},
    {.name = "init_std", .type = OPTION_NUMBER, .offset = offsetof(TupeOptions, init_std),
     .fallback = 0.05, .min = 0, .max = 10,
     .doc = "deviation of the initial values of p, U and B"},
    {.name = "past_end", .type = OPTION_CHOICE, .offset = offsetof(TupeOptions, past_end),
     .words = "error|clamp|interpolate",
     .doc = "past the last row: not defined, the last row again, or the table stretched"},
    {.name = "relative", .type = OPTION_BOOLEAN, .offset = offsetof(TupeOptions, relative),
     .fallback = 0, .doc = "adds a bias by buckets of distances (TUPE-R)"},
    {.name = "buckets", .type = OPTION_INTEGER, .offset = offsetof(TupeOptions, buckets),
     .fallback = 32, .min = 2, .max = 1 << 16, .doc = "relative: as in t5"},
    {.name = "max_distance", .type = OPTION_INTEGER, .offset = offsetof(TupeOptions, max_distance),
     .fallback = 128, .min = 2, .max = 1 << 24, .doc = "relative: as in t5"},
    {0}};

static const TupeOptions *options_of(const EncodingShape *shape) { return shape->options; }
static size_t rows_of_table(const EncodingShape *shape) {
    return rows_wanted(shape, options_of(shape)->positions);
}
static Buckets buckets(const EncodingShape *shape) {
    const TupeOptions *o = options_of(shape);
    return (Buckets){shape->causal, o->buckets, o->max_distance};
}

static int parameters(const EncodingShape *shape, EncodingParameter list[ENCODING_PARAMETERS]) {
    const size_t width = (size_t)shape->width;
    EncodingParameter p = {.rank = 2,
                           .dims = {rows_of_table(shape), width},
                           .shared = true,
                           .deviation = options_of(shape)->init_std};
    for (int k = TABLE; k <= BIAS; k++) list[k] = p;
    list[TABLE].name = "table";
    list[TABLE].counts_rows = true;
    list[QUERY].name = "query";
    list[KEY].name = "key";
    list[QUERY].dims[0] = list[KEY].dims[0] = width;
    list[BIAS].name = "bias";
    list[BIAS].dims[0] = (size_t)shape->heads;
    list[BIAS].dims[1] = (size_t)options_of(shape)->buckets;
    return options_of(shape)->relative ? BIAS + 1 : BIAS;
}

static const char *refuse(const EncodingShape *shape) {
    const Buckets b = buckets(shape);
    return options_of(shape)->relative ? buckets_refuse(&b) : NULL;
}

static const char *defined(const EncodingShape *shape, size_t length, double largest) {
    static char reason[160];
    const size_t rows = rows_of_table(shape);
    if (options_of(shape)->past_end != PAST_ERROR || largest <= (double)rows - 1) return NULL;
    snprintf(reason, sizeof reason,
             "tupe has %zu positions, length %zu needs %.0f; past_end = \"clamp\" or "
             "\"interpolate\" would define it",
             rows, length, largest + 1);
    return reason;
}

static int qk_width(const EncodingShape *shape) { return 2 * shape->head_width; }
static double scale(const EncodingShape *shape) { return 1 / sqrt(2.0 * shape->head_width); }

/* ---- p of a head, once a layer and head ------------------------------------------------------ */

/* prepared, for n rows of the table, rounded up: projected [n, 2d], U_q norm(p) then U_k norm(p);
   norm [n, width]; 1 / deviation [n]; U_q and U_k of the head, transposed [2d, width], without
   their means over channels, which a norm does not see. The slot: the gradient of projected
   [rows, 2d]. */
typedef struct {
    size_t norm, inverse, transposed, end;
} Layout;

static Layout layout(const EncodingShape *shape) {
    const size_t width = (size_t)shape->width, wide = (size_t)shape->qk_width;
    const size_t n = round_up(rows_of_table(shape), GEMM_ROWS);
    Layout at = {.norm = n * wide};
    at.inverse = at.norm + n * width;
    at.transposed = at.inverse + n;
    at.end = at.transposed + wide * width;
    return at;
}
static size_t prepared_size(const EncodingShape *shape, size_t length) {
    (void)length;
    return layout(shape).end;
}
static size_t slot_size(const EncodingShape *shape, size_t length) {
    (void)length;
    return rows_of_table(shape) * (size_t)shape->qk_width;
}

/* (x - mean) / sqrt(variance + 1e-5), in double; returns 1 / sqrt. */
static real normalise(size_t width, const real *x, real *out) {
    double mean = 0, square = 0;
    for (size_t c = 0; c < width; c++) mean += (double)x[c];
    mean /= (double)width;
    for (size_t c = 0; c < width; c++) square += ((double)x[c] - mean) * ((double)x[c] - mean);
    const double inverse = 1 / sqrt(square / (double)width + 1e-5);
    for (size_t c = 0; c < width; c++) out[c] = (real)(((double)x[c] - mean) * inverse);
    return (real)inverse;
}

static void prepare(const Site *site, real *prepared) {
    const EncodingShape *shape = site->shape;
    const Layout at = layout(shape);
    const size_t width = (size_t)shape->width, d = (size_t)shape->head_width;
    const size_t rows = rows_of_table(shape), of_head = (size_t)site->head * d;
    real *norm = prepared + at.norm;
    for (size_t r = 0; r < rows; r++)
        prepared[at.inverse + r] =
            normalise(width, site->parameters[TABLE] + r * width, norm + r * width);
    memset(norm + rows * width, 0, (at.inverse - at.norm - rows * width) * sizeof(real));
    for (size_t side = 0; side < 2; side++) {
        const real *u = site->parameters[side ? KEY : QUERY] + of_head;
        gemm(rows, d, width, norm, width, u, width, 0, prepared + side * d, 2 * d);
        real *transposed = prepared + at.transposed + side * d * width;
        gemm_transpose(transposed, width, u, width, width, d);
        for (size_t i = 0; i < d; i++, transposed += width) {
            double mean = 0;
            for (size_t c = 0; c < width; c++) mean += (double)transposed[c] / (double)width;
            for (size_t c = 0; c < width; c++) transposed[c] -= (real)mean;
        }
    }
}

static void prepare_backward(const Site *site, const real *slot, real *const *gradients) {
    const EncodingShape *shape = site->shape;
    const Layout at = layout(shape);
    const size_t width = (size_t)shape->width, d = (size_t)shape->head_width;
    const size_t rows = rows_of_table(shape), of_head = (size_t)site->head * d;
    const real *norm = site->prepared + at.norm, *projected = site->prepared;
    const real *transposed = site->prepared + at.transposed;
    /* forward: projected = norm · U */
    gemm_transposed(width, d, rows, norm, width, slot, 2 * d, 1, gradients[QUERY] + of_head, width);
    gemm_transposed(width, d, rows, norm, width, slot + d, 2 * d, 1, gradients[KEY] + of_head,
                    width);
    for (size_t r = 0; r < rows; r++, norm += width, projected += 2 * d, slot += 2 * d) {
        /* forward: norm = (p - mean) inverse; with dnorm = dprojected · Uᵀ the product dnorm · norm
           is dprojected · projected */
        const real inverse = site->prepared[at.inverse + r];
        real *dp = gradients[TABLE] + r * width, along = 0;
        for (size_t i = 0; i < 2 * d; i++) {
            const real by = inverse * slot[i], *u = transposed + i * width;
            for (size_t c = 0; by != 0 && c < width; c++) dp[c] += by * u[c];
            along += by * projected[i];
        }
        along /= (real)width;
        for (size_t c = 0; along != 0 && c < width; c++) dp[c] -= along * norm[c];
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void rotate(const Site *site, RotateSide side, size_t first, size_t rows, const real *x,
                   size_t stride, real *out) {
    const EncodingShape *shape = site->shape;
    const size_t d = (size_t)shape->head_width;
    const double last = (double)rows_of_table(shape) - 1;
    const size_t stretched = options_of(shape)->past_end == PAST_INTERPOLATE ? site->length : 0;
    const real *projected = site->prepared + (side == ROTATE_KEY ? d : 0);
    for (size_t row = 0; row < rows; row++, x += stride, out += 2 * d) {
        const double place = rows_place(site->positions[first + row], last, stretched);
        const real *near_row = projected + (size_t)place * 2 * d;
        const real far = (real)(place - floor(place));
        memcpy(out, x, d * sizeof(real));
        memcpy(out + d, near_row, d * sizeof(real));
        for (size_t c = 0; far > 0 && c < d; c++)
            out[d + c] += far * (near_row[2 * d + c] - near_row[c]);
    }
}

static void rotate_backward(const Site *site, RotateSide side, size_t first, size_t rows,
                            const real *x, size_t stride, const real *dout, real *dx, real *slot) {
    (void)x;
    const EncodingShape *shape = site->shape;
    const size_t d = (size_t)shape->head_width;
    const double last = (double)rows_of_table(shape) - 1;
    const size_t stretched = options_of(shape)->past_end == PAST_INTERPOLATE ? site->length : 0;
    real *dprojected = slot + (side == ROTATE_KEY ? d : 0);
    for (size_t row = 0; row < rows; row++, dx += stride, dout += 2 * d) {
        const double place = rows_place(site->positions[first + row], last, stretched);
        real *dnear_row = dprojected + (size_t)place * 2 * d;
        const real far = (real)(place - floor(place));
        memcpy(dx, dout, d * sizeof(real));
        for (size_t c = 0; c < d; c++) dnear_row[c] += (1 - far) * dout[d + c];
        for (size_t c = 0; far > 0 && c < d; c++) dnear_row[2 * d + c] += far * dout[d + c];
    }
}

static void bias(const Site *site, size_t n, const double *distance, real *out) {
    const Buckets b = buckets(site->shape);
    const bool relative = options_of(site->shape)->relative;
    for (size_t i = 0; i < n; i++)
        out[i] = relative ? site->parameters[BIAS][(size_t)(site->head * b.count) +
                                                   buckets_find(&b, distance[i])]
                          : 0;
}

static void bias_backward(const Site *site, size_t n, const double *distance, const double *dout,
                          real *const *gradients) {
    const Buckets b = buckets(site->shape);
    for (size_t i = 0; options_of(site->shape)->relative && i < n; i++)
        gradients[BIAS][(size_t)(site->head * b.count) + buckets_find(&b, distance[i])] +=
            (real)dout[i];
}

/* A table that grows for a longer training starts with what the rule says of its new rows; with
   "error" these start like any others. */
static void extend(const EncodingShape *from, const EncodingShape *to, int k, const real *old,
                   real *grown) {
    (void)k;
    const int past_end = options_of(to)->past_end;
    const size_t width = (size_t)to->width, rows = rows_of_table(to), known = rows_of_table(from);
    for (size_t row = 0; row < (past_end == PAST_ERROR ? known : rows); row++) {
        const double place = rows_place((double)row, (double)known - 1,
                                        past_end == PAST_INTERPOLATE ? rows : 0);
        const real *near_row = old + (size_t)place * width, far = (real)(place - floor(place));
        for (size_t c = 0; c < width; c++)
            grown[row * width + c] =
                near_row[c] + (far > 0 ? far * (near_row[width + c] - near_row[c]) : 0);
    }
}

static void tables(const EncodingShape *shape, const real *const *const *values, size_t length,
                   PositionTableSink sink, void *to) {
    const size_t rows = rows_of_table(shape), width = (size_t)shape->width;
    const size_t heads = (size_t)shape->heads, columns = (size_t)options_of(shape)->buckets;
    double *table = bias_parameter(values, 1, TABLE, rows * width);
    sink(to, &(PositionTable){.name = "table", .rank = 2, .dims = {rows, width},
                              .axes = {"position", "channel"}, .values = table, .kind = "learned",
                              .convention = "p, before its norm; shared by all layers",
                              .unit = "", .counted = TABLE});
    free(table);
    if (!options_of(shape)->relative) return;
    double *copy = bias_parameter(values, 1, BIAS, heads * columns);
    sink(to, &(PositionTable){.name = "bias", .rank = 2, .dims = {heads, columns},
                              .axes = {"head", "bucket"}, .values = copy, .kind = "learned",
                              .convention = "shared by all layers; T5's buckets of query position "
                                            "- key position",
                              .unit = "", .counted = -1});
    free(copy);
    bias_by_distance(bias, shape, false, values, length, sink, to);
}

const Encoding encoding_tupe = {
    .name = "tupe",
    .summary = "learned positions meet each other through projections of their own, once for all",
    .source = "Ke, He, Liu 2020 (TUPE, arXiv 2006.15595), section 3",
    .options = options,
    .options_size = sizeof(TupeOptions),
    .needs_whole_positions = true,
    .parameters = parameters,
    .refuse = refuse,
    .defined = defined,
    .qk_width = qk_width,
    .scale = scale,
    .prepared_size = prepared_size,
    .slot_size = slot_size,
    .prepare = prepare,
    .prepare_backward = prepare_backward,
    .rotate = rotate,
    .rotate_backward = rotate_backward,
    .bias = bias,
    .bias_backward = bias_backward,
    .extend = extend,
    .tables = tables,
};
