/* Polar coordinate position embedding (Gopalakrishnan et al. 2025, PoPE, arXiv 2509.10534). Channel
   c of q and k gives a magnitude, never negative; the angle comes from position alone:

       score_ij = sum_c softplus(q_ic) softplus(k_jc) cos((i - j) w_c - delta_hc) / sqrt(d)
       w_c = base^(-c/d)

   for d channels, so d frequencies, where rope has d/2; delta, a phase of the keys, is learned by
   layer and head within -2 pi ... 0, from 0. As packages do, k turns by j w_c + delta_c.

   This is rope on (softplus(x), 0) of twice the width: q and k are widened to the 2d numbers
   softplus(x_c) cos, softplus(x_c) sin. */
#include "encodings/bias.h"
#include "src/simd.h"

typedef struct {
    double base;
} PopeOptions;

static const Option options[] = {
    {.name = "base", .type = OPTION_NUMBER, .offset = offsetof(PopeOptions, base),
     .fallback = 10000, .min = 1.0001, .max = 1e12,
     .doc = "channel c turns by base^(-c/d) a token; larger bases turn more slowly"},
    {0}};

static int parameters(const EncodingShape *shape, EncodingParameter list[ENCODING_PARAMETERS]) {
    list[0] = (EncodingParameter){
        .name = "phase", .rank = 2, .dims = {(size_t)shape->heads, (size_t)shape->head_width}};
    return 1;
}

static void project(const EncodingShape *shape, real *const *values) {
    const real least_phase = (real)(-2 * M_PI);
    for (size_t i = 0; i < (size_t)(shape->heads * shape->head_width); i++) {
        real *phase = &values[0][i];
        if (*phase > 0) *phase = 0;
        if (*phase < least_phase) *phase = least_phase;
    }
}

static int qk_width(const EncodingShape *shape) { return 2 * shape->head_width; }

static double frequency(const EncodingShape *shape, size_t channel) {
    const double base = ((const PopeOptions *)shape->options)->base;
    return pow(base, -(double)channel / shape->head_width);
}

/* table[length][cos of every channel, sin of every channel] */
static size_t table_size(const EncodingShape *shape, size_t length) {
    return length * 2 * (size_t)shape->head_width;
}

static void begin(const Site *site, real *table) {
    const size_t d = (size_t)site->shape->head_width;
    for (size_t c = 0; c < d; c++) {
        const double w = frequency(site->shape, c);
        for (size_t i = 0; i < site->length; i++) {
            const double angle = site->positions[i] * w;
            table[i * 2 * d + c] = (real)cos(angle);
            table[i * 2 * d + d + c] = (real)sin(angle);
        }
    }
}

/* prepared: cos and sin of the head's phases, those of q (zero) first: [side][cos, sin][d]. The
   slot: gradients of the phases. */
static size_t prepared_size(const EncodingShape *shape, size_t length) {
    (void)length;
    return 4 * (size_t)shape->head_width;
}
static size_t slot_size(const EncodingShape *shape, size_t length) {
    (void)length;
    return (size_t)shape->head_width;
}

static void prepare(const Site *site, real *prepared) {
    const size_t d = (size_t)site->shape->head_width;
    for (size_t c = 0; c < d; c++) {
        const double phase = (double)site->parameters[0][(size_t)site->head * d + c];
        prepared[c] = 1;
        prepared[d + c] = 0;
        prepared[2 * d + c] = (real)cos(phase);
        prepared[3 * d + c] = (real)sin(phase);
    }
}

static void prepare_backward(const Site *site, const real *slot, real *const *gradients) {
    const size_t d = (size_t)site->shape->head_width;
    for (size_t c = 0; c < d; c++) gradients[0][(size_t)site->head * d + c] += slot[c];
}

static Lanes load(const real *from, size_t count) {
    return count < LANES ? lanes_load_part(from, count, 0) : lanes_load(from);
}
static void store(real *to, Lanes x, size_t count) {
    if (count < LANES) lanes_store_part(to, x, count);
    else lanes_store(to, x);
}

/* The angles of `count` channels of a token, from what is there at its first one. */
typedef struct {
    Lanes cosine, sine;
} Turn;

static Turn turn(const real *token, const real *phase, size_t d, size_t count) {
    const Lanes a = load(token, count), b = load(token + d, count);
    const Lanes e = load(phase, count), f = load(phase + d, count);
    return (Turn){a * e - b * f, a * f + b * e};
}

static void rotate(const Site *site, RotateSide side, size_t first, size_t rows, const real *x,
                   size_t stride, real *out) {
    const size_t d = (size_t)site->shape->head_width;
    const real *token = site->table + first * 2 * d;
    const real *phase = site->prepared + (side == ROTATE_KEY ? 2 * d : 0);
    for (size_t row = 0; row < rows; row++, x += stride, token += 2 * d, out += 2 * d)
        for (size_t c = 0; c < d; c += LANES) {
            const size_t count = least(d - c, LANES);
            const Turn by = turn(token + c, phase + c, d, count);
            const Lanes magnitude = lanes_softplus(load(x + c, count));
            store(out + c, magnitude * by.cosine, count);
            store(out + d + c, magnitude * by.sine, count);
        }
}

static void rotate_backward(const Site *site, RotateSide side, size_t first, size_t rows,
                            const real *x, size_t stride, const real *dout, real *dx, real *slot) {
    const size_t d = (size_t)site->shape->head_width;
    const real *token = site->table + first * 2 * d;
    const real *phase = site->prepared + (side == ROTATE_KEY ? 2 * d : 0);
    for (size_t row = 0; row < rows;
         row++, x += stride, dx += stride, token += 2 * d, dout += 2 * d)
        for (size_t c = 0; c < d; c += LANES) {
            const size_t count = least(d - c, LANES);
            const Turn by = turn(token + c, phase + c, d, count);
            const Lanes in = load(x + c, count);
            const Lanes da = load(dout + c, count), db = load(dout + d + c, count);
            store(dx + c, (da * by.cosine + db * by.sine) * lanes_sigmoid(in), count);
            if (side == ROTATE_KEY) {
                const Lanes dphase = lanes_softplus(in) * (db * by.cosine - da * by.sine);
                store(slot + c, load(slot + c, count) + dphase, count);
            }
        }
}

static void tables(const EncodingShape *shape, const real *const *const *values, size_t length,
                   PositionTableSink sink, void *to) {
    (void)length;
    const size_t layers = (size_t)shape->layers, heads = (size_t)shape->heads;
    const size_t d = (size_t)shape->head_width;
    double *frequencies = ALLOCATE(d, double);
    double *phases = bias_parameter(values, layers, 0, heads * d);
    for (size_t c = 0; c < d; c++) frequencies[c] = frequency(shape, c);
    sink(to, &(PositionTable){.name = "frequency", .rank = 1, .dims = {d}, .axes = {"channel"},
                              .values = frequencies, .kind = "fixed",
                              .convention = "every channel turns, by this for a token",
                              .unit = "radian/token", .counted = -1});
    sink(to, &(PositionTable){.name = "phase", .rank = 3, .dims = {layers, heads, d},
                              .axes = {"layer", "head", "channel"}, .values = phases,
                              .kind = "learned",
                              .convention = "added to the angle of a key: a channel's part of a "
                                            "score peaks at distance (phase + 2 pi n) / frequency",
                              .unit = "radian", .counted = -1});
    free(frequencies);
    free(phases);
}

const Encoding encoding_pope = {
    .name = "pope",
    .summary = "softplus of q and k as magnitudes, angles from position alone, d frequencies",
    .source = "Gopalakrishnan et al. 2025 (PoPE, arXiv 2509.10534)",
    .options = options,
    .options_size = sizeof(PopeOptions),
    .parameters = parameters,
    .qk_width = qk_width,
    .table_size = table_size,
    .prepared_size = prepared_size,
    .slot_size = slot_size,
    .begin = begin,
    .prepare = prepare,
    .prepare_backward = prepare_backward,
    .rotate = rotate,
    .rotate_backward = rotate_backward,
    .project = project,
    .tables = tables,
};
