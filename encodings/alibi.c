/* Attention with linear biases (Press, Smith, Lewis 2021, arXiv 2108.12409):

       score_ij = q_i · k_j / sqrt(d) - m_h |i - j|

   The slopes m_h of H = 2^n heads are 2^(-8h/H), h = 1 ... H. For other H they are those of the
   authors' code: the slopes of the largest power of two below H, then every second one, from the
   first, of twice that power; so they are not sorted. Nothing is learned.

   A bidirectional model sees |i - j| alone and cannot tell left from right. */
#include "encodings/bias.h"

#include <math.h>

static const Option options[] = {{0}};

static double slope(const EncodingShape *shape, int head) {
    int power = 1;
    while (2 * power <= shape->heads) power *= 2;
    if (head < power) return exp2(-8.0 * (head + 1) / power);
    return exp2(-8.0 * (2 * (head - power) + 1) / (2 * power));
}

static void bias(const Site *site, size_t n, const double *distance, real *out) {
    const double m = slope(site->shape, site->head);
    for (size_t i = 0; i < n; i++) out[i] = (real)(-m * fabs(distance[i]));
}

static void tables(const EncodingShape *shape, const real *const *const *parameters, size_t length,
                   PositionTableSink sink, void *to) {
    (void)parameters;
    const size_t heads = (size_t)shape->heads;
    double *slopes = ALLOCATE(heads, double);
    for (size_t head = 0; head < heads; head++) slopes[head] = slope(shape, (int)head);
    sink(to, &(PositionTable){.name = "slope",
                              .rank = 1,
                              .dims = {heads},
                              .axes = {"head"},
                              .values = slopes,
                              .kind = "fixed",
                              .convention = "slope * distance is subtracted from the score",
                              .unit = "1/token",
                              .counted = -1});
    free(slopes);
    bias_by_distance(bias, shape, false, NULL, length, sink, to);
}

const Encoding encoding_alibi = {
    .name = "alibi",
    .summary = "scores fall linearly with the distance, at a fixed slope for each head",
    .source = "Press, Smith, Lewis 2021 (ALiBi, arXiv 2108.12409), section 3",
    .options = options,
    .bias = bias,
    .tables = tables,
};
