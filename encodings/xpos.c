/* xPos (Sun et al. 2022, arXiv 2212.10554, section 3.2): rotary position embedding whose pairs also
   decay with the distance,

       q'_i = R_i q_i * z^(i/B),  k'_j = R_j k_j * z^(-j/B),  z_c = (2c/d + 0.4) / 1.4

   so pair c of a score is multiplied by z_c^((i-j)/B), B = scale_base. In a bidirectional model
   that would grow without bound for keys after the query. Pairs are channels 2c and 2c + 1, as in
   the authors' code (torchscale).

   Exponents count from the middle of the sequence, as there: scores do not depend on it, and the
   factor of k would overflow at half the length otherwise. Here from where the factor of the middle
   is a power of two, which leaves the bits of a score alone, however long the sequence goes on. */
#include "encodings/encoding.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    double base, scale_base;
} XposOptions;

static const Option options[] = {
    {.name = "base", .type = OPTION_NUMBER, .offset = offsetof(XposOptions, base),
     .fallback = 10000, .min = 1.0001, .max = 1e12,
     .doc = "pair c turns by base^(-2c/d) a token; larger bases turn more slowly"},
    {.name = "scale_base", .type = OPTION_NUMBER, .offset = offsetof(XposOptions, scale_base),
     .fallback = 512, .min = 1, .max = 1e9,
     .doc = "distance at which pair c has decayed to (2c/d + 0.4) / 1.4 of its score"},
    {0}};

static size_t pair_count(const EncodingShape *shape) { return (size_t)shape->head_width / 2; }

static double frequency(const EncodingShape *shape, size_t pair) {
    const XposOptions *o = shape->options;
    return pow(o->base, -2 * (double)pair / shape->head_width);
}

/* Of one token: z_c^(1/B) */
static double decay(const EncodingShape *shape, size_t pair) {
    const double gamma = 0.4, z = (2 * (double)pair / shape->head_width + gamma) / (1 + gamma);
    return pow(z, 1 / ((const XposOptions *)shape->options)->scale_base);
}

/* Factors of k stay below e^80, those of q above its inverse: a float holds 3e38. */
static const char *defined(const EncodingShape *shape, size_t length, double largest) {
    static char reason[160];
    const double exponent = -log(decay(shape, 0)) * largest / 2;
    if (exponent <= 80) return NULL;
    snprintf(reason, sizeof reason,
             "xpos would multiply by e^%.0f at length %zu; scale_base = %.0f is the least that it "
             "can have there",
             exponent, length,
             ceil(exponent / 80 * ((const XposOptions *)shape->options)->scale_base));
    return reason;
}

/* table[length][side][cos of every pair, sin of every pair], both times the decay of that side */
static size_t table_size(const EncodingShape *shape, size_t length) {
    return length * 4 * pair_count(shape);
}

static void begin(const Site *site, real *table) {
    const size_t pairs = pair_count(site->shape);
    double lowest = site->positions[0], highest = lowest;
    for (size_t i = 1; i < site->length; i++) {
        lowest = fmin(lowest, site->positions[i]);
        highest = fmax(highest, site->positions[i]);
    }
    for (size_t pair = 0; pair < pairs; pair++) {
        const double w = frequency(site->shape, pair), z = decay(site->shape, pair);
        const int middle = (int)lround((lowest + highest) / 2 * log2(z));
        for (size_t i = 0; i < site->length; i++) {
            const double angle = site->positions[i] * w;
            /* z^position, whole powers of two apart: far positions must not underflow */
            const double power = site->positions[i] * log2(z), whole = floor(power);
            const double factor = ldexp(exp2(power - whole), (int)(whole - middle));
            real *q = table + i * 4 * pairs + pair, *k = q + 2 * pairs;
            q[0] = (real)(cos(angle) * factor);
            q[pairs] = (real)(sin(angle) * factor);
            k[0] = (real)(cos(angle) / factor);
            k[pairs] = (real)(sin(angle) / factor);
        }
    }
}

/* Each row by its turn and decay (direction 1), or by the transpose of that (-1). */
static void turn(const Site *site, RotateSide side, real direction, size_t first, size_t rows,
                 const real *x, size_t x_stride, real *out, size_t out_stride) {
    const size_t pairs = pair_count(site->shape);
    for (size_t row = 0; row < rows; row++) {
        const real *restrict cosine =
            site->table + ((first + row) * 2 + (side == ROTATE_KEY)) * 2 * pairs;
        const real *restrict sine = cosine + pairs;
        const real *restrict from = x + row * x_stride;
        real *restrict to = out + row * out_stride;
        for (size_t c = 0; c < pairs; c++) {
            const real a = from[2 * c], b = from[2 * c + 1], s = direction * sine[c];
            to[2 * c] = a * cosine[c] - b * s;
            to[2 * c + 1] = b * cosine[c] + a * s;
        }
    }
}

static void rotate(const Site *site, RotateSide side, size_t first, size_t rows, const real *x,
                   size_t stride, real *out) {
    turn(site, side, 1, first, rows, x, stride, out, (size_t)site->shape->head_width);
}

static void rotate_backward(const Site *site, RotateSide side, size_t first, size_t rows,
                            const real *x, size_t stride, const real *dout, real *dx, real *slot) {
    (void)x, (void)slot;
    turn(site, side, -1, first, rows, dout, (size_t)site->shape->head_width, dx, stride);
}

static void tables(const EncodingShape *shape, const real *const *const *parameters, size_t length,
                   PositionTableSink sink, void *to) {
    (void)parameters, (void)length;
    const size_t pairs = pair_count(shape);
    double *frequencies = ALLOCATE(pairs, double), *decays = ALLOCATE(pairs, double);
    for (size_t pair = 0; pair < pairs; pair++) {
        frequencies[pair] = frequency(shape, pair);
        decays[pair] = decay(shape, pair);
    }
    const char *convention = "interleaved: channels 2c and 2c + 1 are pair c";
    sink(to, &(PositionTable){.name = "frequency", .rank = 1, .dims = {pairs}, .axes = {"pair"},
                              .values = frequencies, .kind = "fixed", .convention = convention,
                              .unit = "radian/token", .counted = -1});
    sink(to, &(PositionTable){.name = "decay", .rank = 1, .dims = {pairs}, .axes = {"pair"},
                              .values = decays, .kind = "fixed",
                              .convention = "a pair's part of the score is multiplied by "
                                            "decay^distance",
                              .unit = "1/token", .counted = -1});
    free(frequencies);
    free(decays);
}

const Encoding encoding_xpos = {
    .name = "xpos",
    .summary = "rotary pairs that also decay exponentially with the distance",
    .source = "Sun et al. 2022 (xPos, arXiv 2212.10554), section 3.2",
    .options = options,
    .options_size = sizeof(XposOptions),
    .needs_causal = "multiplies scores by decay^distance, which grows without bound for keys "
                    "after the query",
    .needs_even_head_width = true,
    .defined = defined,
    .table_size = table_size,
    .begin = begin,
    .rotate = rotate,
    .rotate_backward = rotate_backward,
    .tables = tables,
};
