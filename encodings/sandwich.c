/* Sandwich (Chi et al. 2023, arXiv 2212.10356, section 6): of the inner product of two sums of
   token and sinusoid, the part of the sinusoids alone is kept,

       score_ij = q_i · k_j / sqrt(d) + (sum_t cos((i - j) / 10000^(2t/D)) - D/2) / (8h/H),

   t = 1 ... D/2, for head h = 1 ... H; D = `d_bar` belongs to the bias, not to the model. Without
   the -D/2, which no softmax sees, the bias would not be 0 at distance 0. It falls like a
   logarithm, with ripples. Nothing is learned. */
#include "encodings/bias.h"

#include <math.h>
#include <stdio.h>

typedef struct {
    int64_t d_bar;
} SandwichOptions;

static const Option options[] = {
    {.name = "d_bar", .type = OPTION_INTEGER, .offset = offsetof(SandwichOptions, d_bar),
     .fallback = 128, .min = 2, .max = 1 << 16,
     .doc = "width D of the sinusoids whose inner product is the bias, even (paper: 128)"},
    {0}};

static const char *refuse(const EncodingShape *shape) {
    static char reason[96];
    const int64_t d_bar = ((const SandwichOptions *)shape->options)->d_bar;
    if (d_bar % 2 == 0) return NULL;
    snprintf(reason, sizeof reason, "d_bar = %lld is odd; pairs of channels need an even one",
             (long long)d_bar);
    return reason;
}

static void bias(const Site *site, size_t n, const double *distance, real *out) {
    const int64_t d_bar = ((const SandwichOptions *)site->shape->options)->d_bar;
    const double ratio = 8.0 * (site->head + 1) / site->shape->heads;
    const double step = pow(10000, -2.0 / (double)d_bar);
    for (size_t i = 0; i < n; i++) {
        double sum = 0, w = 1;
        for (int64_t t = 1; t <= d_bar / 2; t++) {
            w *= step;
            sum += cos(distance[i] * w) - 1;
        }
        out[i] = (real)(sum / ratio);
    }
}

static void tables(const EncodingShape *shape, const real *const *const *parameters, size_t length,
                   PositionTableSink sink, void *to) {
    (void)parameters;
    bias_by_distance(bias, shape, false, NULL, length, sink, to);
}

const Encoding encoding_sandwich = {
    .name = "sandwich",
    .summary = "the inner product of two sinusoidal encodings as a bias, scaled for each head",
    .source = "Chi et al. 2023 (Sandwich, arXiv 2212.10356), section 6",
    .options = options,
    .options_size = sizeof(SandwichOptions),
    .refuse = refuse,
    .bias = bias,
    .tables = tables,
};
