/* Learned absolute positions (Gehring et al. 2017, arXiv 1705.03122; BERT, GPT): x_m += P[m],
   P[N, width] learned.

   What happens past the last row is part of the definition, never an accident (past_end):
     error         the length is not defined
     clamp         row m is P[min(m, N-1)]
     interpolate   the table is stretched over the longer sequence, x = m (N-1)/(length-1) between
                   two rows
     hierarchical  Su's decomposition (bert4keras): with base vectors u_i = (P[i] - a P[0])/(1 - a),
                   row iN + j is a u_i + (1 - a) u_j = P[j] + a/(1 - a) (P[i] - P[0]); rows below N
                   are those of the table, and N^2 can be reached. At a = 1/2 (i, j) and (j, i)
                   would be one row
     random        row m is mean + deviation * z_m, channel by channel those of the trained rows,
                   z_m normal from a stream that m alone names: the same in every run
   Between whole positions x is linear. A table that grows for a longer training starts with the
   rows that the rule gives (extend); with "error" the new ones start like any others. */
#include "encodings/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAST_ERROR, PAST_CLAMP, PAST_INTERPOLATE, PAST_HIERARCHICAL, PAST_RANDOM };

typedef struct {
    int64_t positions;
    double init_std, alpha;
    int past_end;
} LearnedOptions;

static const Option options[] = {
    {.name = "positions", .type = OPTION_INTEGER, .offset = offsetof(LearnedOptions, positions),
     .fallback = 0, .min = 0, .max = 1 << 24,
     .doc = "rows of the table; 0: the longest length of training"},
    {.name = "init_std", .type = OPTION_NUMBER, .offset = offsetof(LearnedOptions, init_std),
     .fallback = 0.02, .min = 0, .max = 10,
     .doc = "deviation of the rows' initial values (GPT-2 and BERT: 0.02)"},
    {.name = "past_end", .type = OPTION_CHOICE, .offset = offsetof(LearnedOptions, past_end),
     .words = "error|clamp|interpolate|hierarchical|random",
     .doc = "past the last row: not defined, the last row again, the table stretched, sums of two "
            "rows, or rows drawn like the others"},
    {.name = "alpha", .type = OPTION_NUMBER, .offset = offsetof(LearnedOptions, alpha),
     .fallback = 0.4, .min = 0.01, .max = 0.99,
     .doc = "hierarchical: weight of the coarse part; not 0.5"},
    {0}};

static const LearnedOptions *options_of(const EncodingShape *shape) { return shape->options; }

static size_t rows(const EncodingShape *shape) {
    return rows_wanted(shape, options_of(shape)->positions);
}

static int parameters(const EncodingShape *shape, EncodingParameter list[ENCODING_PARAMETERS]) {
    list[0] = (EncodingParameter){.name = "table",
                                  .rank = 2,
                                  .dims = {rows(shape), (size_t)shape->width},
                                  .shared = true,
                                  .deviation = options_of(shape)->init_std,
                                  .counts_rows = true};
    return 1;
}

static const char *refuse(const EncodingShape *shape) {
    const LearnedOptions *o = options_of(shape);
    return o->past_end == PAST_HIERARCHICAL && fabs(o->alpha - 0.5) < 1e-3
               ? "alpha = 0.5 gives two positions the same row; it must be another share"
               : NULL;
}

static const char *defined(const EncodingShape *shape, size_t length, double largest) {
    static char reason[160];
    const LearnedOptions *o = options_of(shape);
    const double n = (double)rows(shape);
    if (o->past_end == PAST_HIERARCHICAL && largest > n * n - 1)
        snprintf(reason, sizeof reason,
                 "past_end = \"hierarchical\" reaches %zu * %zu positions, length %zu needs %.0f",
                 rows(shape), rows(shape), length, ceil(largest) + 1);
    else if (o->past_end == PAST_ERROR && largest > n - 1)
        snprintf(reason, sizeof reason,
                 "learned has %zu positions, length %zu needs %.0f; past_end = \"clamp\", "
                 "\"interpolate\", \"hierarchical\" or \"random\" would define it",
                 rows(shape), length, ceil(largest) + 1);
    else
        return NULL;
    return reason;
}

/* ---- rows of the table, and past it ---------------------------------------------------------- */

/* x_m as a sum of rows of the table. */
enum { TERMS = 6 };
typedef struct {
    size_t row;
    double weight;
} Term;

/* A row at a whole position. */
static int whole_terms(const EncodingShape *shape, double position, Term *terms) {
    const double n = (double)rows(shape), alpha = options_of(shape)->alpha;
    if (options_of(shape)->past_end != PAST_HIERARCHICAL || position < n) {
        terms[0] = (Term){(size_t)fmin(position, n - 1), 1};
        return 1;
    }
    const double coarse = floor(position / n);
    terms[0] = (Term){(size_t)(position - coarse * n), 1};
    terms[1] = (Term){(size_t)coarse, alpha / (1 - alpha)};
    terms[2] = (Term){0, -alpha / (1 - alpha)};
    return 3;
}

/* Any position: linear between the rows of two whole ones. A single term has weight 1. */
static int terms_of(const EncodingShape *shape, double position, size_t length,
                    Term terms[TERMS]) {
    const int past_end = options_of(shape)->past_end;
    const double n = (double)rows(shape);
    const double last = past_end == PAST_HIERARCHICAL ? n * n - 1 : n - 1;
    const double x = rows_place(position, last, past_end == PAST_INTERPOLATE ? length : 0);
    const double low = floor(x), far = x - low;
    const int near = whole_terms(shape, low, terms);
    if (far <= 0) return near;
    const int all = near + whole_terms(shape, low + 1, terms + near);
    for (int t = 0; t < all; t++) terms[t].weight *= t < near ? 1 - far : far;
    return all;
}

static bool is_random(const EncodingShape *shape, double position) {
    return options_of(shape)->past_end == PAST_RANDOM && position > (double)rows(shape) - 1;
}

/* What z of a whole position is drawn from, channel by channel. */
static Rng stream_of(double position) {
    return rng_stream(0, RNG_INIT, rng_hash("encoding/learned/past_end") & 0xFFFFFFFFFF,
                      (uint64_t)fmin(position, UINT32_MAX));
}

/* z of every token past the end: made once for the positions of a batch. */
static size_t table_size(const EncodingShape *shape, size_t length) {
    return options_of(shape)->past_end == PAST_RANDOM ? length * (size_t)shape->width : 0;
}

static void begin(const Site *site, real *z) {
    const size_t width = (size_t)site->shape->width;
    for (size_t i = 0; i < site->length; i++, z += width) {
        const double position = site->positions[i], far = position - floor(position);
        if (!is_random(site->shape, position)) continue;
        Rng low = stream_of(floor(position)), high = stream_of(floor(position) + 1);
        for (size_t c = 0; c < width; c++) {
            const double next = far > 0 ? far * rng_normal(&high) : 0;
            z[c] = (real)((1 - far) * rng_normal(&low) + next);
        }
    }
}

/* Rows that training reached; prepared: mean and deviation of each channel of them [2, width].
   embed serves all heads and reads what head 0 has. */
static size_t trained_rows(const EncodingShape *shape) {
    return shape->trained_length ? least(rows(shape), shape->trained_length) : rows(shape);
}

static size_t prepared_size(const EncodingShape *shape, size_t length) {
    (void)length;
    return options_of(shape)->past_end == PAST_RANDOM ? 2 * (size_t)shape->width : 0;
}

static void prepare(const Site *site, real *prepared) {
    if (options_of(site->shape)->past_end != PAST_RANDOM || site->head) return;
    const size_t n = trained_rows(site->shape), width = (size_t)site->shape->width;
    for (size_t c = 0; c < width; c++) {
        const real *column = site->parameters[0] + c;
        double mean = 0, square = 0;
        for (size_t row = 0; row < n; row++) mean += (double)column[row * width] / (double)n;
        for (size_t row = 0; row < n; row++)
            square += pow((double)column[row * width] - mean, 2) / (double)n;
        prepared[c] = (real)mean;
        prepared[width + c] = (real)sqrt(square);
    }
}

static void embed(const Site *site, real *x) {
    const EncodingShape *shape = site->shape;
    const size_t width = (size_t)shape->width;
    const real *table = site->parameters[0];
    for (size_t i = 0; i < site->length; i++, x += width) {
        if (is_random(shape, site->positions[i])) {
            const real *z = site->table + i * width;
            const real *mean = site->prepared, *deviation = mean + width;
            for (size_t c = 0; c < width; c++) x[c] += mean[c] + deviation[c] * z[c];
            continue;
        }
        Term terms[TERMS];
        const int count = terms_of(shape, site->positions[i], site->length, terms);
        const real *row = table + terms[0].row * width;
        for (size_t c = 0; count == 1 && c < width; c++) x[c] += row[c];
        for (size_t c = 0; count > 1 && c < width; c++) {
            real sum = 0;
            for (int t = 0; t < count; t++)
                sum += (real)terms[t].weight * table[terms[t].row * width + c];
            x[c] += sum;
        }
    }
}

static void embed_backward(const Site *site, const real *dx, size_t from, size_t to,
                           real *const *gradients) {
    const EncodingShape *shape = site->shape;
    const size_t width = (size_t)shape->width;
    bool random = false;
    for (size_t i = 0; i < site->length; i++) {
        if (is_random(shape, site->positions[i])) {
            random = true;
            continue;
        }
        Term terms[TERMS];
        const int count = terms_of(shape, site->positions[i], site->length, terms);
        for (int t = 0; t < count; t++) {
            const real weight = (real)terms[t].weight;
            real *drow = gradients[0] + terms[t].row * width;
            for (size_t c = from; c < to; c++) drow[c] += weight * dx[i * width + c];
        }
    }
    /* x = mean + deviation z: d mean / d P = 1/n, d deviation / d P = (P - mean) / (n deviation) */
    const double n = (double)trained_rows(shape);
    for (size_t c = from; random && c < to; c++) {
        const double mean = (double)site->prepared[c];
        const double deviation = (double)site->prepared[width + c];
        double dmean = 0, ddeviation = 0;
        for (size_t i = 0; i < site->length; i++)
            if (is_random(shape, site->positions[i])) {
                dmean += (double)dx[i * width + c];
                ddeviation += (double)(dx[i * width + c] * site->table[i * width + c]);
            }
        const double slope = deviation > 0 ? ddeviation / deviation : 0;
        for (size_t row = 0; row < trained_rows(shape); row++) {
            const double away = (double)site->parameters[0][row * width + c] - mean;
            gradients[0][row * width + c] += (real)((dmean + slope * away) / n);
        }
    }
}

/* Row m of the longer table is what the shorter one gives at m of a sequence as long as it, by the
   rule of the longer one. */
static void extend(const EncodingShape *from, const EncodingShape *to, int k, const real *old,
                   real *grown) {
    (void)k;
    const size_t width = (size_t)to->width, length = rows(to);
    LearnedOptions rule = *options_of(to);
    rule.positions = (int64_t)rows(from);
    EncodingShape shorter = *from;
    shorter.options = &rule;
    const size_t known = rule.past_end == PAST_ERROR ? rows(from) : length;
    double *positions = ALLOCATE(length, double);
    for (size_t m = 0; m < length; m++) positions[m] = (double)m;
    real *z = ALLOCATE(table_size(&shorter, known), real);
    real *prepared = ALLOCATE(prepared_size(&shorter, known), real);
    const real *const parameters[] = {old};
    const Site site = {.shape = &shorter,
                       .parameters = parameters,
                       .length = known,
                       .positions = positions,
                       .table = z,
                       .prepared = prepared};
    begin(&site, z);
    prepare(&site, prepared);
    memset(grown, 0, known * width * sizeof *grown);
    embed(&site, grown);
    free(positions);
    free(z);
    free(prepared);
}

static void tables(const EncodingShape *shape, const real *const *const *values, size_t length,
                   PositionTableSink sink, void *to) {
    (void)length;
    const size_t count = rows(shape) * (size_t)shape->width;
    double *table = ALLOCATE(count, double);
    for (size_t i = 0; i < count; i++) table[i] = (double)values[0][0][i];
    sink(to, &(PositionTable){.name = "table",
                              .rank = 2,
                              .dims = {rows(shape), (size_t)shape->width},
                              .axes = {"position", "channel"},
                              .values = table,
                              .kind = "learned",
                              .convention = "row m is added to the embedding of token m (from 0)",
                              .unit = "",
                              .counted = 0});
    free(table);
}

const Encoding encoding_learned = {
    .name = "learned",
    .summary = "a learned vector for each position, added to the token embedding",
    .source = "Gehring et al. 2017 (arXiv 1705.03122); Devlin et al. 2018 (arXiv 1810.04805)",
    .options = options,
    .options_size = sizeof(LearnedOptions),
    .parameters = parameters,
    .refuse = refuse,
    .defined = defined,
    .table_size = table_size,
    .prepared_size = prepared_size,
    .begin = begin,
    .prepare = prepare,
    .embed = embed,
    .embed_backward = embed_backward,
    .extend = extend,
    .tables = tables,
};
