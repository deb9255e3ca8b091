/* Sinusoidal absolute positions (Vaswani et al. 2017, arXiv 1706.03762, section 3.5):
   x_m = token_scale * token + scale * p_m with p_{m,2t} = sin(m w_t), p_{m,2t+1} = cos(m w_t),
   w_t = base^(-2t/width).

   Conventions that the literature mixes up are options: layout interleaved (the paper) or
   concatenated [sin … | cos …] (tensor2tensor); exponent "paper" or "tensor2tensor", which divides
   by width/2 - 1 so that the last frequency is exactly 1/base; token_scale sqrt(width) with scale 1
   (the paper), or 1 with a scale that fits the tokens. An odd width has one sine more. */
#include "encodings/encoding.h"

#include <math.h>
#include <stdlib.h>

enum { INTERLEAVED, CONCATENATED };
enum { EXPONENT_PAPER, EXPONENT_TENSOR2TENSOR };

typedef struct {
    double base, scale, token_scale;
    int layout, exponent;
} SinusoidalOptions;

static const Option options[] = {
    {.name = "base", .type = OPTION_NUMBER, .offset = offsetof(SinusoidalOptions, base),
     .fallback = 10000, .min = 1.0001, .max = 1e12, .doc = "ratio of the frequencies' ends"},
    {.name = "layout", .type = OPTION_CHOICE, .offset = offsetof(SinusoidalOptions, layout),
     .words = "interleaved|concatenated",
     .doc = "sin, cos, sin, cos (the paper) or all sines, then all cosines (tensor2tensor)"},
    {.name = "exponent", .type = OPTION_CHOICE, .offset = offsetof(SinusoidalOptions, exponent),
     .words = "paper|tensor2tensor",
     .doc = "frequencies base^(-2t/width), or base^(-t/(width/2 - 1))"},
    {.name = "scale", .type = OPTION_NUMBER, .offset = offsetof(SinusoidalOptions, scale),
     .fallback = 0.05, .min = 0, .max = 100,
     .doc = "factor of the sinusoids; tokens start with deviation model.init_std, so the default "
            "gives both the same order of size"},
    {.name = "token_scale", .type = OPTION_NUMBER,
     .offset = offsetof(SinusoidalOptions, token_scale), .fallback = 1, .min = 1e-6, .max = 1e6,
     .doc = "factor of the token embeddings (the paper: the root of width, with scale = 1)"},
    {0}};

static size_t sines(const EncodingShape *shape) { return ((size_t)shape->width + 1) / 2; }

static double frequency(const EncodingShape *shape, size_t t) {
    const SinusoidalOptions *o = shape->options;
    const double half = (double)sines(shape);
    if (o->exponent == EXPONENT_PAPER)
        return pow(o->base, -2 * (double)t / (double)shape->width);
    return half > 1 ? pow(o->base, -(double)t / (half - 1)) : 1;
}

static double entry(const EncodingShape *shape, double position, size_t channel) {
    const SinusoidalOptions *o = shape->options;
    const size_t half = sines(shape);
    const bool cosine = o->layout == INTERLEAVED ? channel % 2 : channel >= half;
    const size_t t = o->layout == INTERLEAVED ? channel / 2 : channel - (cosine ? half : 0);
    const double angle = position * frequency(shape, t);
    return cosine ? cos(angle) : sin(angle);
}

static double token_scale(const EncodingShape *shape) {
    return ((const SinusoidalOptions *)shape->options)->token_scale;
}

static size_t table_size(const EncodingShape *shape, size_t length) {
    return length * (size_t)shape->width;
}

static void begin(const Site *site, real *table) {
    const size_t width = (size_t)site->shape->width;
    const double scale = ((const SinusoidalOptions *)site->shape->options)->scale;
    for (size_t i = 0; i < site->length; i++)
        for (size_t c = 0; c < width; c++)
            table[i * width + c] = (real)(scale * entry(site->shape, site->positions[i], c));
}

static void embed(const Site *site, real *x) {
    const size_t count = site->length * (size_t)site->shape->width;
    for (size_t i = 0; i < count; i++) x[i] += site->table[i];
}
/* No embed_backward: the table has no parameters, and dx passes through unchanged. */

static void tables(const EncodingShape *shape, const real *const *const *parameters, size_t length,
                   PositionTableSink sink, void *to) {
    (void)parameters;
    const SinusoidalOptions *o = shape->options;
    const size_t width = (size_t)shape->width, half = sines(shape);
    double *values = ALLOCATE(length * width, double);
    double *frequencies = ALLOCATE(half, double), *wavelengths = ALLOCATE(half, double);
    for (size_t t = 0; t < half; t++) {
        frequencies[t] = frequency(shape, t);
        wavelengths[t] = 2 * M_PI / frequencies[t];
    }
    for (size_t i = 0; i < length; i++)
        for (size_t c = 0; c < width; c++)
            values[i * width + c] = o->scale * entry(shape, (double)i, c);
    const char *convention = o->layout == INTERLEAVED
                                 ? "interleaved: channel 2t = sin(m w_t), 2t + 1 = cos(m w_t)"
                                 : "concatenated: all sines, then all cosines";
    sink(to, &(PositionTable){.name = "frequency", .rank = 1, .dims = {half}, .axes = {"pair"},
                              .values = frequencies, .kind = "fixed", .convention = convention,
                              .unit = "radian/token", .counted = -1});
    sink(to, &(PositionTable){.name = "wavelength", .rank = 1, .dims = {half}, .axes = {"pair"},
                              .values = wavelengths, .kind = "fixed", .convention = convention,
                              .unit = "token", .counted = -1});
    sink(to, &(PositionTable){.name = "table", .rank = 2, .dims = {length, width},
                              .axes = {"position", "channel"}, .values = values, .kind = "fixed",
                              .convention = convention, .unit = "", .counted = -1});
    free(values);
    free(frequencies);
    free(wavelengths);
}

const Encoding encoding_sinusoidal = {
    .name = "sinusoidal",
    .summary = "fixed sines and cosines of the position, added to the token embedding",
    .source = "Vaswani et al. 2017 (arXiv 1706.03762), section 3.5",
    .options = options,
    .options_size = sizeof(SinusoidalOptions),
    .token_scale = token_scale,
    .table_size = table_size,
    .begin = begin,
    .embed = embed,
    .tables = tables,
};
