/* Functional interpolation for relative positions (Li et al. 2023, FIRE, arXiv 2310.04418):

       score_ij = q_i · k_j / sqrt(d) + f_h(psi(|i - j|) / psi(max(L0, i))),  psi(x) = ln(c x + 1)
       f_h(x) = sum_n out_nh max(0, in_n x + a_n) + o_h

   c, L0 and the network f are learned, by layer; i is the position of the query. Up to L0 the bias
   depends on the distance alone; past it the argument of a distance shrinks as the query moves on,
   so that it stays within 0 … 1 in a causal model, however long the sequence ("progressive
   interpolation"). As in the paper's listing |c| is used, L0 is |multiplier| times its initial
   value, and 1e-6 is added to the denominator. Keys after the query count by |i - j|.

   f_h is piecewise linear with a kink a hidden unit. Where positions rise by one, the keys of a
   row between two kinks are a run of columns, and cost one multiplication and addition of a table
   of psi by distance; gradients are sums over such runs. Other positions go score by score. */
#include "encodings/bias.h"
#include "encodings/tile.h"

enum { C, MULTIPLIER, IN, IN_BIAS, OUT, OUT_BIAS, PARAMETERS };
enum { UNITS_MOST = 64 };
static const double TINY = 1e-6;

typedef struct {
    int64_t hidden;
    double threshold;
} FireOptions;

static const Option options[] = {
    {.name = "hidden", .type = OPTION_INTEGER, .offset = offsetof(FireOptions, hidden),
     .fallback = 32, .min = 1, .max = UNITS_MOST, .doc = "hidden units of f (paper: 32)"},
    {.name = "threshold", .type = OPTION_NUMBER, .offset = offsetof(FireOptions, threshold),
     .fallback = 0, .min = 0, .max = 1e9,
     .doc = "initial L0, in tokens; 0: half of the longest length of training (paper: 512)"},
    {0}};

static size_t hidden(const EncodingShape *shape) {
    return (size_t)((const FireOptions *)shape->options)->hidden;
}
static double initial_threshold(const EncodingShape *shape) {
    const double given = ((const FireOptions *)shape->options)->threshold;
    return given > 0 ? given : fmax((double)shape->trained_length / 2, 1);
}

/* Deviations are those of the uniform draws that torch starts layers from. */
static int parameters(const EncodingShape *shape, EncodingParameter list[ENCODING_PARAMETERS]) {
    const size_t units = hidden(shape), heads = (size_t)shape->heads;
    const double in = 1 / sqrt(3), out = in / sqrt((double)units);
    list[C] = (EncodingParameter){.name = "c", .rank = 1, .dims = {1}, .mean = 0.1};
    list[MULTIPLIER] =
        (EncodingParameter){.name = "multiplier", .rank = 1, .dims = {1}, .mean = 1};
    list[IN] = (EncodingParameter){
        .name = "in_weight", .rank = 1, .dims = {units}, .deviation = in};
    list[IN_BIAS] = (EncodingParameter){
        .name = "in_bias", .rank = 1, .dims = {units}, .deviation = in};
    list[OUT] = (EncodingParameter){
        .name = "out_weight", .rank = 2, .dims = {units, heads}, .deviation = out};
    list[OUT_BIAS] = (EncodingParameter){
        .name = "out_bias", .rank = 1, .dims = {heads}, .deviation = out};
    return PARAMETERS;
}

static double c_of(const real *const *p) { return fabs((double)p[C][0]); }
static double threshold_of(const EncodingShape *shape, const real *const *p) {
    return fabs((double)p[MULTIPLIER][0]) * initial_threshold(shape);
}
static double psi_of(double c, double x) { return log1p(c * x); }
/* d psi / d c; d psi / d x is c times that of x, divided by x. */
static double rate_of(double c, double x) { return x / (c * x + 1); }

/* ---- f as pieces ----------------------------------------------------------------------------- */

/* From start[n] to start[n + 1] f(x) is slope[n] x + offset[n]. Unit unit[n] has its kink at
   start[n]; start[0] is 0, arguments are not negative. */
typedef struct {
    int count;
    int unit[UNITS_MOST + 1];
    double start[UNITS_MOST + 1], slope[UNITS_MOST + 1], offset[UNITS_MOST + 1];
} Pieces;

/* Whether the unit is above 0 on the right of its kink, or everywhere. */
static bool rises(const real *const *p, int unit) { return p[IN][unit] > 0; }
/* Where the unit starts or ends, 0 where no argument is. */
static double kink(const real *const *p, int unit) {
    const double at = -(double)p[IN_BIAS][unit] / (double)p[IN][unit];
    return at > 0 && isfinite(at) ? at : 0;
}
/* On the first piece. */
static bool is_active(const real *const *p, int unit) {
    return kink(p, unit) > 0 ? !rises(p, unit)
                             : p[IN_BIAS][unit] > 0 || (p[IN_BIAS][unit] == 0 && rises(p, unit));
}

static Pieces pieces_of(const EncodingShape *shape, const real *const *p, size_t head) {
    const size_t heads = (size_t)shape->heads;
    Pieces f = {.count = 1, .offset = {(double)p[OUT_BIAS][head]}};
    for (int unit = 0; unit < (int)hidden(shape); unit++) {
        const double out = (double)p[OUT][(size_t)unit * heads + head], at = kink(p, unit);
        if (is_active(p, unit)) {
            f.slope[0] += out * (double)p[IN][unit];
            f.offset[0] += out * (double)p[IN_BIAS][unit];
        }
        if (!(at > 0)) continue;
        int n = f.count++;
        for (; n > 1 && f.start[n - 1] > at; n--)
            f.start[n] = f.start[n - 1], f.unit[n] = f.unit[n - 1];
        f.start[n] = at;
        f.unit[n] = unit;
    }
    for (int n = 1; n < f.count; n++) {
        const int unit = f.unit[n];
        const double out = (double)p[OUT][(size_t)unit * heads + head] * (rises(p, unit) ? 1 : -1);
        f.slope[n] = f.slope[n - 1] + out * (double)p[IN][unit];
        f.offset[n] = f.offset[n - 1] + out * (double)p[IN_BIAS][unit];
    }
    return f;
}

/* ---- tables of a layer and head -------------------------------------------------------------- */

/* The table: whether positions rise by one. */
static size_t table_size(const EncodingShape *shape, size_t length) {
    (void)shape, (void)length;
    return LANES;
}
static void begin(const Site *site, real *table) {
    bool rise = true;
    for (size_t i = 0; i < site->length; i++)
        rise &= site->positions[i] == site->positions[0] + (double)i;
    table[0] = rise;
}

/* prepared: count, c, L0; start, slope, offset of the pieces [room each]; psi and its rate by
   falling distance, from length - 1 on, with a vector more at the end. */
enum { COUNT_OF, C_OF, THRESHOLD_OF, HEADER = LANES };
static size_t room(const EncodingShape *shape) { return round_up(hidden(shape) + 2, LANES); }
static size_t span(const EncodingShape *shape, size_t length) {
    return (shape->causal ? 1 : 2) * length + LANES;
}
static size_t prepared_size(const EncodingShape *shape, size_t length) {
    return HEADER + 3 * room(shape) + 2 * span(shape, length);
}
static const real *start_of(const Site *site) { return site->prepared + HEADER; }
static const real *slope_of(const Site *site) { return start_of(site) + room(site->shape); }
static const real *offset_of(const Site *site) { return slope_of(site) + room(site->shape); }
static const real *psi_table(const Site *site) { return offset_of(site) + room(site->shape); }
static const real *rate_table(const Site *site) {
    return psi_table(site) + span(site->shape, site->length);
}

/* The slot, a vector of partial sums for each: offsets and slopes of the pieces, c, L0. */
static size_t slot_size(const EncodingShape *shape, size_t length) {
    (void)length;
    return (2 * room(shape) + 2) * LANES;
}
static real *slot_offset(const EncodingShape *shape, real *slot, size_t piece) {
    (void)shape;
    return slot + piece * LANES;
}
static real *slot_slope(const EncodingShape *shape, real *slot, size_t piece) {
    return slot + (room(shape) + piece) * LANES;
}
static real *slot_c(const EncodingShape *shape, real *slot) {
    return slot + 2 * room(shape) * LANES;
}
static real *slot_threshold(const EncodingShape *shape, real *slot) {
    return slot_c(shape, slot) + LANES;
}

static void prepare(const Site *site, real *prepared) {
    const size_t pieces = room(site->shape), entries = span(site->shape, site->length);
    const Pieces f = pieces_of(site->shape, site->parameters, (size_t)site->head);
    const double c = c_of(site->parameters);
    prepared[COUNT_OF] = (real)f.count;
    prepared[C_OF] = (real)c;
    prepared[THRESHOLD_OF] = (real)threshold_of(site->shape, site->parameters);
    real *start = prepared + HEADER, *slope = start + pieces, *offset = slope + pieces;
    for (size_t n = 0; n < pieces; n++) {
        const bool there = n < (size_t)f.count;
        start[n] = there ? (real)f.start[n] : (real)INFINITY;
        slope[n] = there ? (real)f.slope[n] : 0;
        offset[n] = there ? (real)f.offset[n] : 0;
    }
    real *psi = offset + pieces, *rate = psi + entries;
    for (size_t n = 0; n < entries; n++) {
        const double distance = fabs((double)site->length - 1 - (double)n);
        psi[n] = (real)psi_of(c, distance);
        rate[n] = (real)rate_of(c, distance);
    }
}

static real total(const real *sums) { return lanes_sum(lanes_load(sums)); }

static void prepare_backward(const Site *site, const real *slot, real *const *gradients) {
    const EncodingShape *shape = site->shape;
    const real *const *p = site->parameters;
    const size_t heads = (size_t)shape->heads, head = (size_t)site->head;
    const Pieces f = pieces_of(shape, p, head);
    /* The sums of all pieces before n, and of all. */
    double doffset[UNITS_MOST + 2] = {0}, dslope[UNITS_MOST + 2] = {0};
    int place[UNITS_MOST] = {0};
    for (int n = 0; n < f.count; n++) {
        doffset[n + 1] = doffset[n] + (double)total(slot_offset(shape, (real *)slot, (size_t)n));
        dslope[n + 1] = dslope[n] + (double)total(slot_slope(shape, (real *)slot, (size_t)n));
        if (n) place[f.unit[n]] = n;
    }
    for (int unit = 0; unit < (int)hidden(shape); unit++) {
        /* A unit without a kink is above 0 in all pieces or in none. */
        const int n = place[unit];
        const int from = n && rises(p, unit) ? n : 0;
        const int to = !n || rises(p, unit) ? f.count : n;
        if (!n && !is_active(p, unit)) continue;
        const double of_slope = dslope[to] - dslope[from], of_offset = doffset[to] - doffset[from];
        const size_t at = (size_t)unit * heads + head;
        const double in = (double)p[IN][unit], bias = (double)p[IN_BIAS][unit];
        gradients[OUT][at] += (real)(in * of_slope + bias * of_offset);
        gradients[IN][unit] += p[OUT][at] * (real)of_slope;
        gradients[IN_BIAS][unit] += p[OUT][at] * (real)of_offset;
    }
    gradients[OUT_BIAS][head] += (real)doffset[f.count];
    const real dc = total(slot_c(shape, (real *)slot));
    const real dthreshold = total(slot_threshold(shape, (real *)slot));
    gradients[C][0] += p[C][0] < 0 ? -dc : dc;
    gradients[MULTIPLIER][0] +=
        (p[MULTIPLIER][0] < 0 ? -1 : 1) * (real)initial_threshold(shape) * dthreshold;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The scratch of a row: 1 / psi(max(L0, i)); where positions rise by one, the first distance of
   each piece too. */
static int row_scratch(const EncodingShape *shape) { return (int)(LANES + room(shape)); }

/* exp(z) - 1 and ln(1 + z), with all digits where z is near 0: c may be tiny, and distances are
   then told apart by the digits that exp(z) and 1 + z do not have. */
static Lanes expm1_of(Lanes z, Lanes power) {
    Lanes series = z * (real)(1 / 6.0) + 1;
    for (int n = 5; n > 1; n--) series = series * z / (real)n + 1;
    return lanes_select(z < lanes_all((real)0.01), series * z, power - 1);
}
static Lanes log1p_of(Lanes z) {
    const Lanes sum = z + 1, lost = z - (sum - 1);
    return lanes_log(sum) + lost / sum;
}

static void open(const Site *site, QueryBlock *block) {
    const double c = (double)site->prepared[C_OF], l0 = (double)site->prepared[THRESHOLD_OF];
    const Lanes most_distance = lanes_all(1 << 24);
    const Lanes per_token = lanes_all((real)(1 / fmax(c, 1e-30)));
    for (size_t r = 0; r < (size_t)block->rows; r++) {
        real *row = block->scratch + r * (size_t)row_scratch(site->shape), *first = row + LANES;
        const double norm = psi_of(c, fmax(l0, site->positions[block->first + r])) + TINY;
        row[0] = (real)(1 / norm);
        if (site->table[0] == 0) continue;
        for (size_t n = 0; n < room(site->shape); n += LANES) {
            const Lanes start = lanes_load(start_of(site) + n);
            Lanes x = expm1_of(start * (real)norm,
                               lanes_exp2(start * (real)(norm * (double)LOG2E))) *
                      per_token;
            x = lanes_select(x < most_distance, x, most_distance);
            const Lanes whole =
                __builtin_convertvector(__builtin_convertvector(x, IntLanes), Lanes);
            lanes_store(first + n, lanes_select(whole < x, whole + 1, whole));
        }
    }
}

/* ---- a tile, where positions rise by one ----------------------------------------------------- */

/* Columns from … to - 1 are on one piece. */
typedef struct {
    size_t piece;
    ptrdiff_t from, to;
} Run;
enum { RUNS = 2 * (UNITS_MOST + 1) };

/* The pieces of distances nearest … farthest. */
static size_t walk(const real *first, size_t pieces, ptrdiff_t nearest, ptrdiff_t farthest,
                   Run *runs) {
    size_t count = 0, piece = 0;
    while (nearest <= farthest) {
        while (piece + 1 < pieces && (ptrdiff_t)first[piece + 1] <= nearest) piece++;
        ptrdiff_t end = farthest + 1;
        if (piece + 1 < pieces && (ptrdiff_t)first[piece + 1] < end)
            end = (ptrdiff_t)first[piece + 1];
        runs[count++] = (Run){piece, nearest, end};
        nearest = end;
    }
    return count;
}

/* The runs of row r, whose query is in column `own`, which may lie outside. */
static size_t runs_of(const Site *site, const QueryBlock *block, const KeyTile *tile, size_t r,
                      ptrdiff_t own, Run runs[RUNS]) {
    const real *first = block->scratch + r * (size_t)row_scratch(site->shape) + LANES;
    const size_t pieces = (size_t)site->prepared[COUNT_OF];
    const ptrdiff_t keys = tile->keys, last = own < keys ? own : keys - 1;
    size_t count = 0;
    if (last >= 0) count = walk(first, pieces, own - last, own, runs);
    for (size_t n = 0; n < count; n++)
        runs[n] = (Run){runs[n].piece, own + 1 - runs[n].to, own + 1 - runs[n].from};
    if (site->shape->causal) return count;
    const size_t before = count;
    count += walk(first, pieces, own < 0 ? -own : 1, keys - 1 - own, runs + count);
    for (size_t n = before; n < count; n++) runs[n].from += own, runs[n].to += own;
    return count;
}

static ptrdiff_t own_column(const QueryBlock *block, const KeyTile *tile, size_t r) {
    return (ptrdiff_t)(block->first + r) - (ptrdiff_t)tile->first;
}
/* The entry of column 0 in tables by distance. */
static size_t entry(const Site *site, ptrdiff_t own) {
    return (size_t)((ptrdiff_t)site->length - 1 - own);
}
static ptrdiff_t first_vector(const Run *run) { return run->from / LANES * LANES; }
/* A vector at column c, without what is outside the run. */
static Lanes inside(const Run *run, ptrdiff_t c, Lanes x) {
    return c < run->from || c + LANES > run->to ? lanes_between(x, run->from - c, run->to - c) : x;
}

static void score_runs(const Site *site, const QueryBlock *block, const KeyTile *tile, size_t r,
                       real *s) {
    const ptrdiff_t own = own_column(block, tile, r);
    const real *psi = psi_table(site) + entry(site, own);
    const real share = block->scratch[r * (size_t)row_scratch(site->shape)];
    Run runs[RUNS];
    const size_t count = runs_of(site, block, tile, r, own, runs);
    for (const Run *run = runs; run < runs + count; run++) {
        const Lanes slope = lanes_all(slope_of(site)[run->piece] * share);
        const Lanes offset = lanes_all(offset_of(site)[run->piece]);
        for (ptrdiff_t c = first_vector(run); c < run->to; c += LANES)
            lanes_store(s + c, lanes_load(s + c) +
                                   inside(run, c, lanes_load(psi + c) * slope + offset));
    }
}

/* What a row learns of c and L0: ds times the slope of f, times psi or its rate. */
typedef struct {
    Lanes psi, rate;
} RowSums;

static RowSums runs_backward(const Site *site, const QueryBlock *block, const KeyTile *tile,
                             size_t r, const real *ds, real *slot) {
    const ptrdiff_t own = own_column(block, tile, r);
    const real *psi = psi_table(site) + entry(site, own);
    const real *rate = rate_table(site) + entry(site, own);
    const real share = block->scratch[r * (size_t)row_scratch(site->shape)];
    RowSums sums = {{0}, {0}};
    Run runs[RUNS];
    const size_t count = runs_of(site, block, tile, r, own, runs);
    for (const Run *run = runs; run < runs + count; run++) {
        Lanes sum = {0}, by_psi = {0}, by_rate = {0};
        for (ptrdiff_t c = first_vector(run); c < run->to; c += LANES) {
            const Lanes d = inside(run, c, lanes_load(ds + c));
            sum += d;
            by_psi += d * lanes_load(psi + c);
            by_rate += d * lanes_load(rate + c);
        }
        real *doffset = slot_offset(site->shape, slot, run->piece);
        real *dslope = slot_slope(site->shape, slot, run->piece);
        lanes_store(doffset, lanes_load(doffset) + sum);
        lanes_store(dslope, lanes_load(dslope) + by_psi * share);
        sums.psi += by_psi * slope_of(site)[run->piece];
        sums.rate += by_rate * slope_of(site)[run->piece];
    }
    return sums;
}

/* ---- a tile, score by score ------------------------------------------------------------------ */

/* Distances of row r to the keys, in whole vectors; 0 for columns that are no tokens. */
static size_t distances(const Site *site, const QueryBlock *block, const KeyTile *tile, size_t r,
                        real distance[TILE_COLUMNS]) {
    const double query = site->positions[block->first + r];
    const double *keys = site->positions + tile->first;
    const size_t seen = site->shape->causal ? tile_visible(block, tile, r) : (size_t)tile->columns;
    for (size_t c = 0; c < seen; c++)
        distance[c] = c < (size_t)tile->keys ? (real)fabs(query - keys[c]) : 0;
    return seen;
}

static void score_each(const Site *site, const QueryBlock *block, const KeyTile *tile, size_t r,
                       real *s) {
    const real *start = start_of(site), *slope = slope_of(site), *offset = offset_of(site);
    const real share = block->scratch[r * (size_t)row_scratch(site->shape)];
    const size_t pieces = (size_t)site->prepared[COUNT_OF];
    real distance[TILE_COLUMNS];
    const size_t seen = distances(site, block, tile, r, distance);
    for (size_t c = 0; c < seen; c += LANES) {
        const Lanes x = log1p_of(lanes_load(distance + c) * site->prepared[C_OF]) * share;
        Lanes f = x * slope[0] + offset[0];
        for (size_t n = 1; n < pieces; n++)
            f = lanes_select(x >= lanes_all(start[n]), x * slope[n] + offset[n], f);
        lanes_store(s + c, lanes_load(s + c) + f);
    }
}

static RowSums each_backward(const Site *site, const QueryBlock *block, const KeyTile *tile,
                             size_t r, const real *ds, real *slot) {
    const real *start = start_of(site), *slope = slope_of(site);
    const real share = block->scratch[r * (size_t)row_scratch(site->shape)];
    const size_t pieces = (size_t)site->prepared[COUNT_OF];
    const Lanes zero = {0};
    RowSums sums = {{0}, {0}};
    real distance[TILE_COLUMNS];
    const size_t seen = distances(site, block, tile, r, distance);
    for (size_t c = 0; c < seen; c += LANES) {
        const Lanes far = lanes_load(distance + c), scaled = far * site->prepared[C_OF];
        const Lanes psi = log1p_of(scaled), x = psi * share, d = lanes_load(ds + c);
        Lanes by_slope = zero;
        for (size_t n = 0; n < pieces; n++) {
            const IntLanes on = (x >= lanes_all(start[n])) & (x < lanes_all(start[n + 1]));
            const Lanes here = lanes_select(on, d, zero);
            real *doffset = slot_offset(site->shape, slot, n);
            real *dslope = slot_slope(site->shape, slot, n);
            lanes_store(doffset, lanes_load(doffset) + here);
            lanes_store(dslope, lanes_load(dslope) + here * x);
            by_slope += here * slope[n];
        }
        sums.psi += by_slope * psi;
        sums.rate += by_slope * (far / (scaled + 1));
    }
    return sums;
}

/* ---- hooks ----------------------------------------------------------------------------------- */

static void score(const Site *site, QueryBlock *block, KeyTile *tile, real *s) {
    const bool rising = site->table[0] != 0;
    for (size_t r = 0; r < (size_t)block->rows; r++, s += tile->stride)
        (rising ? score_runs : score_each)(site, block, tile, r, s);
}

static void score_backward(const Site *site, QueryBlock *block, KeyTile *tile, real *ds,
                           real *slot) {
    const bool rising = site->table[0] != 0;
    const double c = (double)site->prepared[C_OF], l0 = (double)site->prepared[THRESHOLD_OF];
    real *dc = slot_c(site->shape, slot), *dthreshold = slot_threshold(site->shape, slot);
    for (size_t r = 0; r < (size_t)block->rows; r++, ds += tile->stride) {
        const RowSums sums =
            (rising ? runs_backward : each_backward)(site, block, tile, r, ds, slot);
        /* forward: x = psi(distance) / norm, norm = psi(max(L0, i)) */
        const real share = block->scratch[r * (size_t)row_scratch(site->shape)];
        const Lanes dnorm = sums.psi * -(share * share);
        const double i = site->positions[block->first + r];
        lanes_store(dc, lanes_load(dc) + sums.rate * share +
                            dnorm * (real)rate_of(c, fmax(l0, i)));
        if (l0 > i)
            lanes_store(dthreshold, lanes_load(dthreshold) + dnorm * (real)(c / (c * l0 + 1)));
    }
}

/* ---- for the result file --------------------------------------------------------------------- */

static double value(const Pieces *f, double x) {
    int n = 0;
    while (n + 1 < f->count && f->start[n + 1] <= x) n++;
    return f->slope[n] * x + f->offset[n];
}

static void tables(const EncodingShape *shape, const real *const *const *values, size_t length,
                   PositionTableSink sink, void *to) {
    enum { SAMPLES = 65 };
    const size_t layers = (size_t)shape->layers, heads = (size_t)shape->heads;
    double *sampled = ALLOCATE(layers * heads * SAMPLES, double);
    double *bias = ALLOCATE(layers * heads * length, double);
    double *c = ALLOCATE(layers, double), *threshold = ALLOCATE(layers, double);
    for (size_t unit = 0; unit < layers * heads; unit++) {
        const real *const *p = values[unit / heads];
        const Pieces f = pieces_of(shape, p, unit % heads);
        const double of_c = c[unit / heads] = c_of(p);
        const double l0 = threshold[unit / heads] = threshold_of(shape, p);
        const double norm = psi_of(of_c, fmax(l0, (double)length - 1)) + TINY;
        for (size_t n = 0; n < SAMPLES; n++)
            sampled[unit * SAMPLES + n] = value(&f, (double)n / (SAMPLES - 1));
        for (size_t x = 0; x < length; x++)
            bias[unit * length + x] = value(&f, psi_of(of_c, (double)x) / norm);
    }
    PositionTable table = {.name = "bias_by_distance",
                           .rank = 3,
                           .dims = {layers, heads, length},
                           .axes = {"layer", "head", "distance"},
                           .values = bias,
                           .kind = "learned",
                           .convention = "added to the score of the last query, whose position is "
                                         "length - 1; up to the threshold all queries are alike",
                           .unit = "",
                           .counted = -1};
    sink(to, &table);
    table.name = "function";
    table.dims[2] = SAMPLES;
    table.axes[2] = "argument";
    table.values = sampled;
    table.convention = "f at n / 64, of the ratio of logarithms";
    sink(to, &table);
    table.name = "c";
    table.rank = 1;
    table.values = c;
    table.convention = "ln(c x + 1)";
    sink(to, &table);
    table.name = "threshold";
    table.values = threshold;
    table.convention = "position of the query from which on distances are interpolated";
    table.unit = "token";
    sink(to, &table);
    free(sampled);
    free(bias);
    free(c);
    free(threshold);
}

const Encoding encoding_fire = {
    .name = "fire",
    .summary = "a learned function of log distance over log query position, added to the scores",
    .source = "Li et al. 2023 (FIRE, arXiv 2310.04418)",
    .options = options,
    .options_size = sizeof(FireOptions),
    .parameters = parameters,
    .table_size = table_size,
    .prepared_size = prepared_size,
    .slot_size = slot_size,
    .row_scratch = row_scratch,
    .begin = begin,
    .prepare = prepare,
    .prepare_backward = prepare_backward,
    .open = open,
    .score = score,
    .score_backward = score_backward,
    .tables = tables,
};
