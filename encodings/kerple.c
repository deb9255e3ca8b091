/* Kernelized relative positions (Chi et al. 2022, KERPLE, arXiv 2205.09921):

       score_ij = q_i · k_j / sqrt(d) - r1 ln(1 + r2 |i - j|)      "log"
       score_ij = q_i · k_j / sqrt(d) - r1 |i - j|^r2              "power"

   with r1, r2 > 0 learned by layer and head, r2 <= 2 for "power": the biases are then conditionally
   positive definite kernels. After each step values are brought back into that range, from 0.01 as
   in the authors' code. "power" with r2 = 1 is ALiBi with a learned slope.

   The code draws r1 and r2 from U(0, 2) and U(0, 1) ("power": the other way round). Here initial
   values have the same means and a deviation of a sixth of them, so that all are positive. */
#include "encodings/bias.h"

#include <math.h>

enum { LOG, POWER };
enum { R1, R2 };

typedef struct {
    int kernel;
} KerpleOptions;

static const Option options[] = {
    {.name = "kernel", .type = OPTION_CHOICE, .offset = offsetof(KerpleOptions, kernel),
     .words = "log|power", .doc = "-r1 ln(1 + r2 distance) or -r1 distance^r2"},
    {0}};

static bool is_log(const EncodingShape *shape) {
    return ((const KerpleOptions *)shape->options)->kernel == LOG;
}

static int parameters(const EncodingShape *shape, EncodingParameter list[ENCODING_PARAMETERS]) {
    const double r1 = is_log(shape) ? 1 : 0.5, r2 = is_log(shape) ? 0.5 : 1;
    list[R1] = (EncodingParameter){
        .name = "r1", .rank = 1, .dims = {(size_t)shape->heads}, .mean = r1, .deviation = r1 / 6};
    list[R2] = (EncodingParameter){
        .name = "r2", .rank = 1, .dims = {(size_t)shape->heads}, .mean = r2, .deviation = r2 / 6};
    return 2;
}

static void project(const EncodingShape *shape, real *const *values) {
    const real lowest = (real)0.01, highest = 2;
    for (int head = 0; head < shape->heads; head++) {
        real *r1 = &values[R1][head], *r2 = &values[R2][head];
        if (*r1 < lowest) *r1 = lowest;
        if (*r2 < lowest) *r2 = lowest;
        if (*r2 > highest && !is_log(shape)) *r2 = highest;
    }
}

static void bias(const Site *site, size_t n, const double *distance, real *out) {
    const double r1 = (double)site->parameters[R1][site->head];
    const double r2 = (double)site->parameters[R2][site->head];
    if (is_log(site->shape))
        for (size_t i = 0; i < n; i++) out[i] = (real)(-r1 * log1p(r2 * fabs(distance[i])));
    else
        for (size_t i = 0; i < n; i++) out[i] = (real)(-r1 * pow(fabs(distance[i]), r2));
}

static void bias_backward(const Site *site, size_t n, const double *distance, const double *dout,
                          real *const *gradients) {
    const double r1 = (double)site->parameters[R1][site->head];
    const double r2 = (double)site->parameters[R2][site->head];
    double dr1 = 0, dr2 = 0;
    for (size_t i = 0; i < n; i++) {
        const double x = fabs(distance[i]);
        if (x == 0) continue; /* the bias is 0 whatever r1 and r2 are */
        if (is_log(site->shape)) {
            dr1 -= dout[i] * log1p(r2 * x);
            dr2 -= dout[i] * r1 * x / (1 + r2 * x);
        } else {
            const double power = pow(x, r2);
            dr1 -= dout[i] * power;
            dr2 -= dout[i] * r1 * power * log(x);
        }
    }
    gradients[R1][site->head] += (real)dr1;
    gradients[R2][site->head] += (real)dr2;
}

static void tables(const EncodingShape *shape, const real *const *const *values, size_t length,
                   PositionTableSink sink, void *to) {
    const size_t layers = (size_t)shape->layers, heads = (size_t)shape->heads;
    for (int k = R1; k <= R2; k++) {
        double *copy = bias_parameter(values, layers, k, heads);
        sink(to, &(PositionTable){.name = k == R1 ? "r1" : "r2",
                                  .rank = 2,
                                  .dims = {layers, heads},
                                  .axes = {"layer", "head"},
                                  .values = copy,
                                  .kind = "learned",
                                  .convention = is_log(shape) ? "bias = -r1 ln(1 + r2 distance)"
                                                              : "bias = -r1 distance^r2",
                                  .unit = "",
                                  .counted = -1});
        free(copy);
    }
    bias_by_distance(bias, shape, true, values, length, sink, to);
}

const Encoding encoding_kerple = {
    .name = "kerple",
    .summary = "scores fall with the logarithm or a power of the distance, learned for each head",
    .source = "Chi et al. 2022 (KERPLE, arXiv 2205.09921), section 4",
    .options = options,
    .options_size = sizeof(KerpleOptions),
    .parameters = parameters,
    .bias = bias,
    .bias_backward = bias_backward,
    .project = project,
    .tables = tables,
};
