/* Forgetting attention (Lin et al. 2025, "Forgetting Transformer", arXiv 2503.02130), for causal
   models. Each head has a forget gate f_t = sigmoid(w · x_t + b) of the layer's input, and

       score_ij = q_i · k_j / sqrt(d) + log f_j+1 + … + log f_i

   With constant gates it is ALiBi with slope -log f. `bias` is where b starts: 0, half forgotten at
   each token, in the authors' code; 5, which keeps 0.993, in the same idea of x-transformers.

   Positions of tokens are not used. The sums are F_i - F_j of one running sum along the sequence,
   kept in double. */
#include "encodings/encoding.h"

#include "src/simd.h"

#include <stdlib.h>

enum { WEIGHT, BIAS };

typedef struct {
    double bias, init_std;
} FoxOptions;

static const Option options[] = {
    {.name = "bias", .type = OPTION_NUMBER, .offset = offsetof(FoxOptions, bias),
     .fallback = 0, .min = -20, .max = 20,
     .doc = "initial bias of the forget gates (authors: 0; x-transformers: 5)"},
    {.name = "init_std", .type = OPTION_NUMBER, .offset = offsetof(FoxOptions, init_std),
     .fallback = 0.02, .min = 0, .max = 10,
     .doc = "deviation of the gate weights' initial values"},
    {0}};

static int parameters(const EncodingShape *shape, EncodingParameter list[ENCODING_PARAMETERS]) {
    const FoxOptions *o = shape->options;
    const size_t heads = (size_t)shape->heads;
    list[WEIGHT] = (EncodingParameter){.name = "weight",
                                       .rank = 2,
                                       .dims = {heads, (size_t)shape->width},
                                       .deviation = o->init_std};
    list[BIAS] =
        (EncodingParameter){.name = "bias", .rank = 1, .dims = {heads}, .mean = o->bias};
    return 2;
}

/* log sigmoid(x) = -log(1 + e^-x) */
static double log_sigmoid(double x) { return fmin(x, 0) - log1p(exp(-fabs(x))); }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static void gate(const Site *site, size_t rows, const real *x, real *gate) {
    const size_t width = (size_t)site->shape->width, heads = (size_t)site->shape->heads;
    for (size_t row = 0; row < rows; row++, x += width, gate += heads)
        for (size_t h = 0; h < heads; h++) {
            const real *w = site->parameters[WEIGHT] + h * width;
            real sum = 0;
#pragma omp simd reduction(+ : sum)
            for (size_t c = 0; c < width; c++) sum += w[c] * x[c];
            gate[h] = site->parameters[BIAS][h] + sum;
        }
}

static void gate_backward(const Site *site, size_t rows, const real *x, const real *dgate,
                          real *dx, real *const *gradients) {
    const size_t width = (size_t)site->shape->width, heads = (size_t)site->shape->heads;
    for (size_t row = 0; row < rows; row++, x += width, dx += width, dgate += heads)
        for (size_t h = 0; h < heads; h++) {
            const real *w = site->parameters[WEIGHT] + h * width, d = dgate[h];
            real *dw = gradients[WEIGHT] + h * width;
            for (size_t c = 0; c < width; c++) {
                dx[c] += d * w[c];
                dw[c] += d * x[c];
            }
            gradients[BIAS][h] += d;
        }
}

static void scan(const Site *site, const real *gate, size_t stride, double *scan) {
    double sum = 0;
    for (size_t i = 0; i < site->length; i++)
        scan[i] = sum += log_sigmoid((double)gate[i * stride]);
}

static void scan_backward(const Site *site, const real *gate, size_t stride, const double *scan,
                          const double *dscan, real *dgate) {
    (void)scan;
    double sum = 0;
    for (size_t i = site->length; i-- > 0;) {
        sum += dscan[i];
        dgate[i * stride] = (real)(sum * sigmoid(-(double)gate[i * stride]));
    }
}

static void score(const Site *site, QueryBlock *block, KeyTile *tile, real *s) {
    (void)site;
    const double *restrict keys = tile->scans;
    for (size_t r = 0; r < (size_t)block->rows; r++, s += tile->stride) {
        const double own = block->scans[r];
        for (size_t c = 0; c < (size_t)tile->columns; c++) s[c] += (real)(own - keys[c]);
    }
}

static void score_backward(const Site *site, QueryBlock *block, KeyTile *tile, real *ds,
                           real *slot) {
    (void)site, (void)slot;
    real keys[TILE_COLUMNS] = {0};
    for (size_t r = 0; r < (size_t)block->rows; r++, ds += tile->stride) {
        Lanes sum = {0};
        for (size_t c = 0; c < (size_t)tile->columns; c += LANES) {
            const Lanes d = lanes_load(ds + c);
            lanes_store(keys + c, lanes_load(keys + c) + d);
            sum += d;
        }
        block->dscans[r] += (double)lanes_sum(sum);
    }
    for (size_t c = 0; c < (size_t)tile->columns; c++) tile->dscans[c] -= (double)keys[c];
}

static void tables(const EncodingShape *shape, const real *const *const *values, size_t length,
                   PositionTableSink sink, void *to) {
    (void)length;
    const size_t layers = (size_t)shape->layers, heads = (size_t)shape->heads;
    double *kept = ALLOCATE(layers * heads, double);
    for (size_t i = 0; i < layers * heads; i++)
        kept[i] = sigmoid((double)values[i / heads][BIAS][i % heads]);
    sink(to, &(PositionTable){.name = "forget_gate",
                              .rank = 2,
                              .dims = {layers, heads},
                              .axes = {"layer", "head"},
                              .values = kept,
                              .kind = "learned",
                              .convention = "sigmoid of the bias: the gate of a token whose input "
                                            "gives 0; 1 keeps everything",
                              .unit = "",
                              .counted = -1});
    free(kept);
}

const Encoding encoding_fox = {
    .name = "fox",
    .summary = "a learned gate a token and head forgets what lies before it",
    .source = "Lin et al. 2025 (arXiv 2503.02130), equation 7",
    .options = options,
    .options_size = sizeof(FoxOptions),
    .needs_causal = "lets scores fade by the gates between a key and the query after it",
    .parameters = parameters,
    .gates = 1,
    .scans = 1,
    .gate = gate,
    .gate_backward = gate_backward,
    .scan = scan,
    .scan_backward = scan_backward,
    .score = score,
    .score_backward = score_backward,
    .tables = tables,
};
