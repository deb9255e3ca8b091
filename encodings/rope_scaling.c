/* The frequencies of rope, and how they are stretched for sequences s = factor times longer than
   the original length L. n: rotary width, w = base^(-2c/n): the frequency of pair c, t = L w / 2π:
   the turns that it makes within L.

       linear    w / s: position interpolation (Chen et al. 2023, arXiv 2306.15595)
       ntk       base ← base s^(n/(n-2)): the last pair gets w / s, the first keeps w (bloc97)
       dynamic   base ← base (s l/L - (s - 1))^(n/(n-2)) where the current length l is beyond L; it
                 follows l up and down (emozilla)
       yarn      w (1 - ρ (1 - 1/s)): the share ρ of a pair is interpolated, nothing of pairs that
                 make beta_fast turns, all of those that make no more than beta_slow; q and k are
                 multiplied by 0.1 ln s + 1 each (Peng et al. 2023, arXiv 2309.00071)
       llama3    the same with high_factor and low_factor turns, and no magnitude (Llama 3.1)

   The ramp of ρ is linear in t in YaRN's paper (equations 17 to 20) and in llama3. YaRN's code, and
   everything derived from it, makes it linear in the pair c between floor c(beta_fast) and
   ceil c(beta_slow), c(t) = n ln(L / 2πt) / (2 ln base). In short sequences they differ a lot. */
#include "encodings/rope.h"

#include <math.h>
#include <stdio.h>

static const RopeOptions *options_of(const EncodingShape *shape) { return shape->options; }

size_t rope_width(const EncodingShape *shape) {
    return (size_t)lround(options_of(shape)->fraction * shape->head_width);
}

static double original_length(const EncodingShape *shape) {
    const int64_t given = options_of(shape)->original_length;
    return given ? (double)given : (double)shape->trained_length;
}

/* 0 up to `from`, 1 beyond `to`, linear between; a step where they meet or cross. */
static double ramp(double at, double from, double to) {
    if (to <= from) return at > from;
    return fmin(fmax((at - from) / (to - from), 0), 1);
}

/* The pair, as a fraction, that makes `turns` within the original length. */
static double pair_of(const EncodingShape *shape, double turns) {
    return (double)rope_width(shape) * log(original_length(shape) / (2 * M_PI * turns)) /
           (2 * log(options_of(shape)->base));
}

/* The share of a pair that is interpolated. */
static double interpolated(const EncodingShape *shape, size_t pair, double w) {
    const RopeOptions *o = options_of(shape);
    const double turns = original_length(shape) * w / (2 * M_PI);
    if (o->scaling == ROPE_LLAMA3) return 1 - ramp(turns, o->low_factor, o->high_factor);
    if (o->ramp == ROPE_RAMP_PAPER) return 1 - ramp(turns, o->beta_slow, o->beta_fast);
    const double low = fmax(floor(pair_of(shape, o->beta_fast)), 0);
    const double high =
        fmin(ceil(pair_of(shape, o->beta_slow)), (double)rope_width(shape) - 1);
    return ramp((double)pair, low, high);
}

double rope_frequency(const EncodingShape *shape, size_t pair, double length) {
    const RopeOptions *o = options_of(shape);
    const double n = (double)rope_width(shape), original = original_length(shape);
    const double s = o->factor;
    if ((double)pair >= round(o->turning * n / 2)) return 0;
    double base = o->base; /* of a single pair, n = 2, it does not matter */
    if (o->scaling == ROPE_NTK) base *= pow(s, n / (n - 2));
    if (o->scaling == ROPE_DYNAMIC && length > original)
        base *= pow(s * length / original - (s - 1), n / (n - 2));
    double w = pow(base, -2 * (double)pair / n);
    if (o->frequency && o->frequency->count) w = o->frequency->tables[0].values[pair];
    if (o->scaling == ROPE_LINEAR) return w / s;
    if (o->scaling == ROPE_YARN || o->scaling == ROPE_LLAMA3)
        return w * (1 - interpolated(shape, pair, w) * (1 - 1 / s));
    return w;
}

double rope_magnitude(const EncodingShape *shape) {
    const RopeOptions *o = options_of(shape);
    if (o->scaling != ROPE_YARN) return 1;
    return o->attention_factor > 0 ? o->attention_factor : 0.1 * log(o->factor) + 1;
}

const char *rope_refuse_scaling(const EncodingShape *shape) {
    static char reason[160];
    const RopeOptions *o = options_of(shape);
    char scaling[64];
    option_word(ROPE_SCALINGS, o->scaling, scaling);
    if (o->frequency && fabs(o->base - 10000) > 0) {
        snprintf(reason, sizeof reason, "base = %g has no meaning beside frequency", o->base);
        return reason;
    }
    if (o->scaling == ROPE_UNSCALED) return NULL;
    if (o->frequency && (o->scaling == ROPE_NTK || o->scaling == ROPE_DYNAMIC ||
                         o->scaling == ROPE_YARN))
        snprintf(reason, sizeof reason,
                 "scaling = %s changes base, which has no meaning beside frequency", scaling);
    else if (o->factor < 1)
        snprintf(reason, sizeof reason, "factor = %g%s; scaling = %s needs at least 1", o->factor,
                 o->factor > 0 ? "" : " (not given)", scaling);
    else if (!(original_length(shape) > 0))
        snprintf(reason, sizeof reason,
                 "original_length is missing: scaling = %s needs it where no length was trained",
                 scaling);
    else if (o->scaling == ROPE_YARN && o->beta_slow >= o->beta_fast)
        snprintf(reason, sizeof reason, "beta_slow = %g must be below beta_fast = %g", o->beta_slow,
                 o->beta_fast);
    else if (o->scaling == ROPE_LLAMA3 && o->low_factor >= o->high_factor)
        snprintf(reason, sizeof reason, "low_factor = %g must be below high_factor = %g",
                 o->low_factor, o->high_factor);
    else
        return NULL;
    return reason;
}
