/* Relative position bias by buckets (Raffel et al. 2020, T5, arXiv 1910.10683, section 2.1):

       score_ij = q_i · k_j / sqrt(d) + B[h, bucket(i - j)]

   with the buckets of encodings/buckets.h. With 32 buckets and 128 the last causal bucket starts at
   113.

   One table serves all layers, as in T5. T5 itself has no 1/sqrt(d) (its initial weights hold it);
   here scores are scaled as for every other encoding. */
#include "encodings/bias.h"
#include "encodings/buckets.h"

typedef struct {
    int64_t buckets, max_distance;
    bool share;
} T5Options;

static const Option options[] = {
    {.name = "buckets", .type = OPTION_INTEGER, .offset = offsetof(T5Options, buckets),
     .fallback = 32, .min = 2, .max = 1 << 16,
     .doc = "rows of the table; even in a bidirectional model (T5: 32)"},
    {.name = "max_distance", .type = OPTION_INTEGER, .offset = offsetof(T5Options, max_distance),
     .fallback = 128, .min = 2, .max = 1 << 24,
     .doc = "distances from here on share the last bucket (T5: 128)"},
    {.name = "share", .type = OPTION_BOOLEAN, .offset = offsetof(T5Options, share),
     .fallback = 1, .doc = "one table for all layers (T5); false: one for each"},
    {0}};

static const T5Options *options_of(const EncodingShape *shape) { return shape->options; }

static Buckets buckets(const EncodingShape *shape) {
    const T5Options *o = options_of(shape);
    return (Buckets){shape->causal, o->buckets, o->max_distance};
}

static const char *refuse(const EncodingShape *shape) {
    const Buckets b = buckets(shape);
    return buckets_refuse(&b);
}

static int parameters(const EncodingShape *shape, EncodingParameter list[ENCODING_PARAMETERS]) {
    list[0] = (EncodingParameter){.name = "bias",
                                  .rank = 2,
                                  .dims = {(size_t)shape->heads,
                                           (size_t)options_of(shape)->buckets},
                                  .shared = options_of(shape)->share,
                                  .deviation = 1 / sqrt((double)shape->width)};
    return 1;
}

static size_t place(const Site *site, double distance) {
    const Buckets b = buckets(site->shape);
    return (size_t)(site->head * b.count) + buckets_find(&b, distance);
}

static void bias(const Site *site, size_t n, const double *distance, real *out) {
    for (size_t i = 0; i < n; i++) out[i] = site->parameters[0][place(site, distance[i])];
}

static void bias_backward(const Site *site, size_t n, const double *distance, const double *dout,
                          real *const *gradients) {
    for (size_t i = 0; i < n; i++) gradients[0][place(site, distance[i])] += (real)dout[i];
}

static void tables(const EncodingShape *shape, const real *const *const *values, size_t length,
                   PositionTableSink sink, void *to) {
    const bool share = options_of(shape)->share;
    const size_t heads = (size_t)shape->heads, columns = (size_t)options_of(shape)->buckets;
    const size_t layers = share ? 1 : (size_t)shape->layers;
    double *copy = bias_parameter(values, layers, 0, heads * columns);
    PositionTable table = {.name = "bias",
                           .rank = 2,
                           .dims = {heads, columns},
                           .axes = {"head", "bucket"},
                           .values = copy,
                           .kind = "learned",
                           .convention = "shared by all layers; T5's buckets of query position - "
                                         "key position",
                           .unit = "",
                           .counted = -1};
    if (!share) {
        table.rank = 3;
        table.dims[0] = layers, table.dims[1] = heads, table.dims[2] = columns;
        table.axes[0] = "layer", table.axes[1] = "head", table.axes[2] = "bucket";
        table.convention = "T5's buckets of query position - key position";
    }
    sink(to, &table);
    free(copy);
    bias_by_distance(bias, shape, !share, values, length, sink, to);
}

const Encoding encoding_t5 = {
    .name = "t5",
    .summary = "a learned bias for each bucket of distances and head, added to the scores",
    .source = "Raffel et al. 2020 (T5, arXiv 1910.10683), section 2.1",
    .options = options,
    .options_size = sizeof(T5Options),
    .needs_whole_positions = true,
    .parameters = parameters,
    .refuse = refuse,
    .bias = bias,
    .bias_backward = bias_backward,
    .tables = tables,
};
