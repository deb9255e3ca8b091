/* Learned absolute positions (Gehring et al. 2017, arXiv 1705.03122; BERT, GPT): x_m += P[m],
   P[positions, width] learned.

   What happens past the last row is part of the definition, never an accident: the length is then
   not defined (past_end = "error"), or row m is P[min(m, N-1)] ("clamp"), or the table is stretched
   over the longer sequence, x = m (N-1)/(length-1) between two rows ("interpolate"). */
#include "encodings/encoding.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAST_ERROR, PAST_CLAMP, PAST_INTERPOLATE };

typedef struct {
    int64_t positions;
    double init_std;
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
     .words = "error|clamp|interpolate",
     .doc = "past the last row: not defined, the last row again, or the table stretched"},
    {0}};

static size_t rows(const EncodingShape *shape) {
    const int64_t given = ((const LearnedOptions *)shape->options)->positions;
    return given ? (size_t)given : most(shape->trained_length, 1);
}

static int parameters(const EncodingShape *shape, EncodingParameter list[ENCODING_PARAMETERS]) {
    list[0] = (EncodingParameter){.name = "table",
                                  .rank = 2,
                                  .dims = {rows(shape), (size_t)shape->width},
                                  .shared = true,
                                  .deviation =
                                      ((const LearnedOptions *)shape->options)->init_std,
                                  .counts_rows = true};
    return 1;
}

static const char *defined(const EncodingShape *shape, size_t length, double largest) {
    static char reason[160];
    const LearnedOptions *o = shape->options;
    if (o->past_end != PAST_ERROR || largest <= (double)rows(shape) - 1) return NULL;
    snprintf(reason, sizeof reason,
             "learned has %zu positions, length %zu needs %.0f; past_end = \"clamp\" or "
             "\"interpolate\" would define it",
             rows(shape), length, floor(largest) + 1);
    return reason;
}

/* The place in the table of token i: between rows floor(x) and floor(x) + 1. */
static double place(const Site *site, size_t i) {
    const LearnedOptions *o = site->shape->options;
    const double last = (double)rows(site->shape) - 1;
    double x = site->positions[i];
    if (o->past_end == PAST_INTERPOLATE && site->length > rows(site->shape))
        x *= last / ((double)site->length - 1);
    return fmin(fmax(x, 0), last);
}

static void embed(const Site *site, real *x) {
    const size_t width = (size_t)site->shape->width;
    const real *table = site->parameters[0];
    for (size_t i = 0; i < site->length; i++, x += width) {
        const double at = place(site, i);
        const size_t row = (size_t)at;
        const real far = (real)(at - (double)row);
        const real *near_row = table + row * width;
        if (far == 0)
            for (size_t c = 0; c < width; c++) x[c] += near_row[c];
        else
            for (size_t c = 0; c < width; c++)
                x[c] += (1 - far) * near_row[c] + far * near_row[width + c];
    }
}

static void embed_backward(const Site *site, const real *dx, size_t from, size_t to,
                           real *const *gradients) {
    const size_t width = (size_t)site->shape->width;
    for (size_t i = 0; i < site->length; i++, dx += width) {
        const double at = place(site, i);
        const size_t row = (size_t)at;
        const real far = (real)(at - (double)row);
        real *dnear = gradients[0] + row * width;
        if (far == 0)
            for (size_t c = from; c < to; c++) dnear[c] += dx[c];
        else
            for (size_t c = from; c < to; c++) {
                dnear[c] += (1 - far) * dx[c];
                dnear[width + c] += far * dx[c];
            }
    }
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
    .defined = defined,
    .embed = embed,
    .embed_backward = embed_backward,
    .tables = tables,
};
