/* A bias that the config gives as a function of head, distance and, where it has that parameter,
   the length of the sequence:

       score_ij = q_i · k_j / sqrt(d) + bias(h, i - j, length)

   Heads count from 1, as in the formulas of ALiBi and Sandwich; distances are whole, and not
   negative in a causal model. The function is known here as tables of all the distances that the
   config can have; nothing is learned. */
#include "encodings/bias.h"

#include <math.h>
#include <stdio.h>

typedef struct {
    const Function *bias;
} CustomOptions;

static const Option options[] = {
    {.name = "bias", .type = OPTION_FUNCTION, .offset = offsetof(CustomOptions, bias),
     .words = "head|distance|length", .min = -1e30, .max = 1e30,
     .doc = "what is added to the score; heads count from 1, distance = query position - key "
            "position; without the parameter length it is the same at every length"},
    {0}};

/* NULL while there are no numbers: in tests, and after a mistake in the config. */
static const Function *function_of(const EncodingShape *shape) {
    const Function *function = ((const CustomOptions *)shape->options)->bias;
    return function && function->count ? function : NULL;
}

/* Tables for the result file show distances up to length - 1 whatever the positions are. */
static void ranges(const EncodingShape *shape, size_t length, double largest,
                   FunctionRange ranges[FUNCTION_ARGUMENTS]) {
    const double most_far = fmax(largest, (double)length - 1);
    const double from = shape->causal ? 0 : -most_far;
    ranges[0] = (FunctionRange){1, (size_t)shape->heads};
    ranges[1] = (FunctionRange){from, (size_t)(most_far - from) + 1};
    ranges[2] = (FunctionRange){(double)length, 1};
}

static const char *defined(const EncodingShape *shape, size_t length, double largest) {
    static char reason[160];
    const Function *function = function_of(shape);
    if (!function) return NULL;
    const FunctionTable *table = function_table(function, length);
    const FunctionRange *distance = table ? &table->ranges[1] : NULL;
    if (!table)
        snprintf(reason, sizeof reason,
                 "the bias is tabulated for the lengths of the config, and %zu is none of them; "
                 "evaluate.lengths=%zu adds it",
                 length, length);
    else if (distance->from + (double)distance->count <= largest)
        snprintf(reason, sizeof reason,
                 "the bias is tabulated up to distance %.0f, length %zu needs %.0f; "
                 "evaluate.lengths=%zu adds it",
                 distance->from + (double)distance->count - 1, length, largest, length);
    else
        return NULL;
    return reason;
}

/* NaN where there is no number: `defined` has said so, or such pairs are masked. */
static void bias(const Site *site, size_t n, const double *distance, real *out) {
    const Function *function = function_of(site->shape);
    const FunctionTable *table = function ? function_table(function, site->length) : NULL;
    for (size_t i = 0; i < n; i++) out[i] = function ? (real)NAN : 0;
    if (!table) return;
    const FunctionRange *range = &table->ranges[1];
    const double *row = table->values + (size_t)site->head * range->count;
    for (size_t i = 0; i < n; i++) {
        const double column = distance[i] - range->from;
        if (column >= 0 && column < (double)range->count) out[i] = (real)row[(size_t)column];
    }
}

static void tables(const EncodingShape *shape, const real *const *const *parameters, size_t length,
                   PositionTableSink sink, void *to) {
    (void)parameters;
    bias_by_distance(bias, shape, false, NULL, length, sink, to);
}

const Encoding encoding_custom = {
    .name = "custom",
    .summary = "scores get a bias by head, distance and length that the config gives as a function",
    .source = "the function bias of the config",
    .options = options,
    .options_size = sizeof(CustomOptions),
    .needs_whole_positions = true,
    .ranges = ranges,
    .defined = defined,
    .bias = bias,
    .tables = tables,
};
