/* model: a decoder-only transformer with a positional encoding from encodings/. Parameters are one
   flat array with a list that names them; optimizer, clipping, checkpoint and result file loop over
   that list. */
#ifndef SRC_MODEL_MODEL_H
#define SRC_MODEL_MODEL_H

#include "encodings/encoding.h"
#include "src/base.h"

enum { MODEL_LAYERS = 60 }; /* most layers: streams of dropout have 256 places a step */

/* Kinds of attention (model.attention): softmax, and linear with these options (linear.c). */
typedef enum { FEATURE_ELU, FEATURE_EXP } FeatureMap;
typedef enum { ROTATE_AFTER, ROTATE_BEFORE } RotateOrder; /* of the feature map */
typedef struct {
    int feature_map; /* FeatureMap */
    int rotate;      /* RotateOrder */
} LinearOptions;

extern const Kind *const attentions[];
extern const size_t attention_count;

/* NULL, or why the encoding cannot serve linear attention, from its declarations: position can
   enter at the embedding, or by rotations that learn nothing and do not widen q and k. */
const char *linear_refuse(const Encoding *encoding);

/* How weights start; words of model.init. INIT_NORMAL: matrices and the embedding N(0, init_std^2).
   INIT_UNIT keeps the size of what flows through: matrices N(0, 1 / channels in), those that write
   to the residual stream divided by sqrt(2 layers), the embedding N(0, 1). */
typedef enum { INIT_NORMAL, INIT_UNIT } ModelInit;

typedef struct {
    int layers, width, heads;
    int mlp; /* channels of the MLP; 0: none */
    int vocabulary;
    bool bias;   /* in the linear layers and norms */
    bool tied;   /* the output matrix is the token embedding, transposed */
    bool causal;
    double dropout;
    ModelInit init;
    double init_std; /* of INIT_NORMAL */
    const Encoding *encoding;
    const void *encoding_options;
    const PositionSource *positions;
    const void *position_options;
    size_t trained_length; /* the longest length of training */
    const LinearOptions *linear; /* linear attention; NULL: softmax */
} ModelShape;

typedef struct {
    char name[64]; /* "layer0/attention/qkv/weight" */
    int rank;
    size_t dims[ENCODING_RANK];
    const char *axes[ENCODING_RANK];
    size_t offset, count; /* in reals, into values; offsets are multiples of 16 */
    bool decay;           /* weight decay applies: matrices only */
    double mean, deviation;
    int layer;            /* -1 when not of one layer */
    int encoding_index;   /* k of the encoding's parameter list, or -1 */
    bool counts_rows;
} Parameter;

/* Offsets of one layer's parameters; NONE where the model has none. */
#define NONE SIZE_MAX
typedef struct {
    size_t norm1_gain, norm1_bias, qkv, qkv_bias, out, out_bias;
    size_t norm2_gain, norm2_bias, up, up_bias, down, down_bias;
    size_t encoding[ENCODING_PARAMETERS];
} LayerOffsets;

typedef struct {
    ModelShape shape;
    EncodingShape encoding_shape;
    int parameter_count;
    Parameter *parameters;
    size_t count; /* reals in values, gaps included */
    real *values; /* [count] */
    size_t embedding, final_gain, final_bias, output; /* offsets; output NONE when tied */
    LayerOffsets layers[MODEL_LAYERS];
} Model;

/* Parameters are laid out and drawn: each from the stream of its own name (seed, RNG_INIT,
   hash(name)), so models that share a parameter start with the same one. Matrices and the
   embedding by shape->init; the output matrix (or the tied embedding) N(0, 0.02^2), so that the
   first loss is ln V; norms 1 and 0, biases 0. */
Model *model_create(const ModelShape *shape, int64_t init_seed);
/* The list alone: values is NULL. For counts and sizes before anything is allocated. */
Model *model_describe(const ModelShape *shape);
void model_free(Model *model);

/* NULL, or why the encoding cannot serve this shape (a clause). */
const char *model_refuse(const ModelShape *shape);

/* NULL, or why a sequence of this length is not defined for the model's encoding. */
const char *model_defined(const Model *model, size_t length);

/* Every table that carries position, as the encoding gives it for positions or distances 0 ..
   length - 1. */
void model_tables(const Model *model, size_t length, PositionTableSink sink, void *to);

/* Reals that matter (without gaps). */
size_t model_parameter_total(const Model *model);

/* Useful FLOPs of one training step of items x length tokens, as in docs/PERFORMANCE.md: 6 a
   matrix parameter and token, 6 x layers x T x width a token for causal attention (twice that when
   bidirectional), 12 x layers x head width x width for linear attention. Forward only: a third. */
double model_step_flops(const ModelShape *shape, size_t items, size_t length);

/* ---- running ---------------------------------------------------------------------------- */

/* Arrays [items * length], item after item. */
typedef struct {
    size_t items, length;
    const int32_t *tokens;
    const int32_t *targets;  /* NULL: no loss */
    const uint8_t *scored;   /* NULL with targets NULL */
    const double *positions; /* NULL: drawn from the model's source */
    const int32_t *segments; /* NULL: one segment. A token sees its own segment only; -1 is padding,
                                which sees nothing and is seen by nobody */
    int64_t seed;            /* with step and first_item: streams of positions and dropout */
    uint64_t step, first_item;
} Batch;

/* What a pass tells of every token; NULL where not wanted. */
typedef struct {
    real *loss;      /* [items * length] nats, of the target */
    int32_t *answer; /* [items * length] the most likely token */
    real *logits;    /* [items * length, vocabulary] */
    struct ModelDump *dump;
} ModelOutput;

/* Attention as it was computed: arrays a layer, each [items, heads, length, ...]. */
typedef struct ModelDump {
    real *q[MODEL_LAYERS], *k[MODEL_LAYERS]; /* [.., qk_width] after rotation, before the scale */
    real *v[MODEL_LAYERS];                   /* [.., head_width] */
    real *score[MODEL_LAYERS];               /* [.., length] before softmax, after every bias */
    real *probability[MODEL_LAYERS];         /* [.., length] */
} ModelDump; /* linear attention: q and k are what meets in the numerator, features turned where the
                encoding turns them; probability (wants q and k) is the weights; no score */

/* The engine: activations, gradient slots and scratch of the threads. */
typedef struct Engine Engine;

/* Memory for batches up to what engine_reserve is told; nothing is allocated inside a pass that
   fits. The number of threads is OpenMP's at creation; results do not depend on it. */
Engine *engine_create(Model *model);
void engine_reserve(Engine *engine, size_t items, size_t length, bool training);
void engine_free(Engine *engine);
size_t engine_bytes(const Engine *engine);

/* Where the time of the threads went since the last reset, in seconds summed over threads. */
typedef enum {
    PHASE_EMBEDDING, /* and its gradient */
    PHASE_LINEAR, PHASE_LINEAR_BACKWARD,
    PHASE_NORM, /* both directions */
    PHASE_ATTENTION, PHASE_ATTENTION_BACKWARD,
    PHASE_LOSS, /* output product, loss and their backward */
    PHASE_SUM,  /* gradients of slots and of the encoding */
    PHASES
} Phase;
extern const char *const phase_names[PHASES];
void engine_phases(Engine *engine, double seconds[PHASES], bool reset);

/* The loops over threads since the last reset: the most threads that can have work in one are its
   tasks (in the backward of row blocks and of sequences less: docs/PERFORMANCE.md). */
enum { ENGINE_LOOPS = 32 };
typedef struct {
    const char *work;
    size_t tasks, times;
} EngineLoop;
size_t engine_loops(Engine *engine, EngineLoop loops[ENGINE_LOOPS], bool reset);

/* Bytes that a pass of this shape needs beside the parameters; allocates none of them. */
double engine_bytes_needed(Model *described, size_t items, size_t length, bool training,
                           int threads);

/* Forward only (no dropout). */
void engine_forward(Engine *engine, const Batch *batch, const ModelOutput *output);

/* Forward and backward: gradients[model->count] = (add ? gradients : 0) + d(weight * sum of the
   scored tokens' losses)/d(parameters). */
void engine_gradient(Engine *engine, const Batch *batch, double weight, bool add, real *gradients,
                     const ModelOutput *output);

#endif
