/* Rotary position embedding (Su et al. 2021, RoFormer, arXiv 2104.09864, equations 15 and 34):
   pair c of q and k is turned by the angle m w_c, w_c = base^(-2c/n), where n is the rotary width;
   so q_i · k_j depends on i - j only. Values are not turned.

   layout "half" pairs channel c with c + n/2 (GPT-NeoX, LLaMA); "interleaved" pairs 2c with 2c + 1
   (the paper, GPT-J). They are not interchangeable for given weights. With fraction < 1 only the
   first n = fraction * head_width channels of a head turn (GPT-J, GPT-NeoX: 0.25), and the exponent
   has n, not the head width. With turning < 1 the slowest pairs keep their place in the head and do
   not turn (p-RoPE, Barbero et al. 2024, arXiv 2410.06205). Frequencies for longer sequences are
   in encodings/rope_scaling.c. Angles are computed in double and stored as sines and cosines. */
#include "encodings/rope.h"

#include "src/simd.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { HALF, INTERLEAVED };

#define FIELD(name) offsetof(RopeOptions, name)
static const Option options[] = {
    {.name = "base", .type = OPTION_NUMBER, .offset = FIELD(base), .fallback = 10000,
     .min = 1.0001, .max = 1e12, .doc = "w_c = base^(-2c/n); larger bases turn more slowly"},
    {.name = "fraction", .type = OPTION_NUMBER, .offset = FIELD(fraction), .fallback = 1, .min = 0,
     .max = 1,
     .doc = "share of a head's channels in pairs; it must give an even number, at least 2"},
    {.name = "turning", .type = OPTION_NUMBER, .offset = FIELD(turning), .fallback = 1, .min = 0,
     .max = 1, .doc = "share of the pairs that turn, the fastest (p-RoPE); the others stand still"},
    {.name = "layout", .type = OPTION_CHOICE, .offset = FIELD(layout),
     .words = "half|interleaved",
     .doc = "which channels are a pair: c and c + n/2 (LLaMA) or 2c and 2c + 1 (RoFormer)"},
    {.name = "scaling", .type = OPTION_CHOICE, .offset = FIELD(scaling), .words = ROPE_SCALINGS,
     .doc = "how frequencies are stretched for sequences beyond original_length"},
    {.name = "factor", .type = OPTION_NUMBER, .offset = FIELD(factor), .max = 1e6,
     .doc = "how many times longer sequences are to be, from 1; every scaling needs it"},
    {.name = "original_length", .type = OPTION_INTEGER, .offset = FIELD(original_length),
     .max = 1 << 24, .doc = "tokens that the unscaled frequencies serve; 0: the trained length"},
    {.name = "ramp", .type = OPTION_CHOICE, .offset = FIELD(ramp), .fallback = ROPE_RAMP_CODE,
     .words = "paper|code",
     .doc = "yarn, between beta_slow and beta_fast: linear in a pair's turns (the paper) or in its "
            "index (the code)"},
    {.name = "beta_fast", .type = OPTION_NUMBER, .offset = FIELD(beta_fast), .fallback = 32,
     .min = 1e-6, .max = 1e6,
     .doc = "yarn: pairs that make more turns within original_length keep their frequency"},
    {.name = "beta_slow", .type = OPTION_NUMBER, .offset = FIELD(beta_slow), .fallback = 1,
     .min = 1e-6, .max = 1e6, .doc = "yarn: pairs that make fewer are divided by factor"},
    {.name = "attention_factor", .type = OPTION_NUMBER, .offset = FIELD(attention_factor),
     .max = 1e3,
     .doc = "yarn: what q and k are multiplied with; 1: nothing, 0: 0.1 ln factor + 1"},
    {.name = "low_factor", .type = OPTION_NUMBER, .offset = FIELD(low_factor), .fallback = 1,
     .min = 1e-6, .max = 1e6,
     .doc = "llama3: pairs that make fewer turns within original_length are divided by factor"},
    {.name = "high_factor", .type = OPTION_NUMBER, .offset = FIELD(high_factor), .fallback = 4,
     .min = 1e-6, .max = 1e6, .doc = "llama3: pairs that make more keep their frequency"},
    {.name = "frequency", .type = OPTION_FUNCTION, .offset = FIELD(frequency),
     .text = "base^(-2c/n)", .words = "pair|width", .max = 1e6,
     .doc = "radians a token of pair c = 0 .. n/2 - 1; the width is n = fraction * head width; "
            "instead of base"},
    {0}};

static void ranges(const EncodingShape *shape, size_t length, double largest,
                   FunctionRange ranges[FUNCTION_ARGUMENTS]) {
    (void)length, (void)largest;
    ranges[0] = (FunctionRange){0, rope_width(shape) / 2};
    ranges[1] = (FunctionRange){(double)rope_width(shape), 1};
}

/* "fraction = 0.25 of a head width of 10 gives 2.5 rotary channels" */
static const char *refuse(const EncodingShape *shape) {
    static char reason[160];
    const RopeOptions *o = shape->options;
    const double channels = o->fraction * shape->head_width, nearest = round(channels);
    if (fabs(channels - nearest) >= 1e-9 || nearest < 2 || fmod(nearest, 2) != 0) {
        snprintf(reason, sizeof reason,
                 "fraction = %g of a head width of %d gives %g rotary channels; it must be even "
                 "and at least 2",
                 o->fraction, shape->head_width, channels);
        return reason;
    }
    const double turning = o->turning * nearest / 2;
    if (fabs(turning - round(turning)) >= 1e-9) {
        snprintf(reason, sizeof reason, "turning = %g of %g pairs gives %g; it must be whole",
                 o->turning, nearest / 2, turning);
        return reason;
    }
    return rope_refuse_scaling(shape);
}

static size_t table_size(const EncodingShape *shape, size_t length) {
    return length * rope_width(shape);
}

/* table[length][cos of every pair, sin of every pair], times the magnitude */
static void begin(const Site *site, real *table) {
    const size_t pairs = rope_width(site->shape) / 2;
    const double magnitude = rope_magnitude(site->shape);
    double last = 0;
    for (size_t i = 0; i < site->length; i++) last = fmax(last, site->positions[i]);
    for (size_t pair = 0; pair < pairs; pair++) {
        const double w = rope_frequency(site->shape, pair, last + 1);
        for (size_t i = 0; i < site->length; i++) {
            const double angle = site->positions[i] * w;
            table[i * 2 * pairs + pair] = (real)(magnitude * cos(angle));
            table[i * 2 * pairs + pairs + pair] = (real)(magnitude * sin(angle));
        }
    }
}

/* Pair c, channels c and c + pairs, for eight pairs at a time, which gcc makes one vector of: most
   heads have no more than a few. */
static void turn_half(const real *restrict from, const real *restrict cosine,
                      const real *restrict sine, real direction, real *restrict low,
                      real *restrict high, size_t pairs) {
    enum { PAIRS = 8 };
    size_t c = 0;
    for (; c + PAIRS <= pairs; c += PAIRS)
        for (size_t i = c; i < c + PAIRS; i++) {
            const real a = from[i], b = from[i + pairs], s = direction * sine[i];
            low[i] = a * cosine[i] - b * s;
            high[i] = b * cosine[i] + a * s;
        }
    for (; c < pairs; c++) {
        const real a = from[c], b = from[c + pairs], s = direction * sine[c];
        low[c] = a * cosine[c] - b * s;
        high[c] = b * cosine[c] + a * s;
    }
}

static void turn_interleaved(const real *restrict from, const real *restrict cosine,
                             const real *restrict sine, real direction, real *restrict to,
                             size_t pairs) {
    for (size_t c = 0; c < pairs; c++) {
        const real a = from[2 * c], b = from[2 * c + 1], s = direction * sine[c];
        to[2 * c] = a * cosine[c] - b * s;
        to[2 * c + 1] = b * cosine[c] + a * s;
    }
}

/* Turns rows by the angles of their positions (direction 1) or back (-1). */
static void turn(const Site *site, real direction, size_t first, size_t rows, const real *x,
                 size_t x_stride, real *out, size_t out_stride) {
    const size_t width = (size_t)site->shape->head_width, n = rope_width(site->shape);
    const bool half = ((const RopeOptions *)site->shape->options)->layout == HALF;
    for (size_t row = 0; row < rows; row++) {
        const real *cosine = site->table + (first + row) * n, *sine = cosine + n / 2;
        const real *from = x + row * x_stride;
        real *to = out + row * out_stride;
        fetch_to_read(from + ROWS_AHEAD * x_stride, n);
        fetch_to_write(to + ROWS_AHEAD * out_stride, n);
        if (half) turn_half(from, cosine, sine, direction, to, to + n / 2, n / 2);
        else turn_interleaved(from, cosine, sine, direction, to, n / 2);
        for (size_t c = n; c < width; c++) to[c] = from[c];
    }
}

static void rotate(const Site *site, RotateSide side, size_t first, size_t rows, const real *x,
                   size_t stride, real *out) {
    (void)side;
    turn(site, 1, first, rows, x, stride, out, (size_t)site->shape->head_width);
}

/* The transpose of a rotation is the rotation back; the magnitude stays. */
static void rotate_backward(const Site *site, RotateSide side, size_t first, size_t rows,
                            const real *x, size_t stride, const real *dout, real *dx, real *slot) {
    (void)side, (void)x, (void)slot;
    turn(site, -1, first, rows, dout, (size_t)site->shape->head_width, dx, stride);
}

static void tables(const EncodingShape *shape, const real *const *const *parameters, size_t length,
                   PositionTableSink sink, void *to) {
    (void)parameters;
    const size_t pairs = rope_width(shape) / 2;
    double *frequencies = ALLOCATE(pairs, double), *wavelengths = ALLOCATE(pairs, double);
    for (size_t pair = 0; pair < pairs; pair++) {
        frequencies[pair] = rope_frequency(shape, pair, (double)length);
        wavelengths[pair] = 2 * M_PI / frequencies[pair]; /* +inf: it does not turn */
    }
    const char *convention = ((const RopeOptions *)shape->options)->layout == HALF
                                 ? "half: channels c and c + n/2 are pair c"
                                 : "interleaved: channels 2c and 2c + 1 are pair c";
    sink(to, &(PositionTable){.name = "frequency", .rank = 1, .dims = {pairs}, .axes = {"pair"},
                              .values = frequencies, .kind = "fixed", .convention = convention,
                              .unit = "radian/token", .counted = -1});
    sink(to, &(PositionTable){.name = "wavelength", .rank = 1, .dims = {pairs}, .axes = {"pair"},
                              .values = wavelengths, .kind = "fixed", .convention = convention,
                              .unit = "token", .counted = -1});
    free(frequencies);
    free(wavelengths);
}

const Encoding encoding_rope = {
    .name = "rope",
    .summary = "pairs of channels of q and k turn by an angle proportional to the position",
    .source = "Su et al. 2021 (RoFormer, arXiv 2104.09864), equations 15 and 34",
    .options = options,
    .options_size = sizeof(RopeOptions),
    .ranges = ranges,
    .refuse = refuse,
    .table_size = table_size,
    .begin = begin,
    .rotate = rotate,
    .rotate_backward = rotate_backward,
    .tables = tables,
};
