/* The order of a pass: every loop over threads of the model is here. A loop's body
   writes only to what its index owns, sums are taken in a fixed order, and how work is cut depends
   on the shape alone; so the bits do not depend on the number of threads. */
#include "src/model/engine.h"

#include "src/gemm.h"
#include "src/ops/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_max_threads(void) { return 1; }
static int omp_get_thread_num(void) { return 0; }
#endif

enum {
    CHUNK = 256,         /* distances at a time */
    REDUCE_BLOCK = 2048, /* reals of a piece of the sum over slots */
    CHANNELS = 16        /* of a piece of the embedding's gradient: one cache line */
};

Site engine_site(const Engine *engine, int layer, int head, size_t item) {
    const size_t run = (engine->layer_runs > 1 ? (size_t)layer * engine->runs : 0) +
                       (engine->runs > 1 ? item : 0);
    const size_t unit = (engine->prepared_layers > 1 ? (size_t)layer : 0) *
                            (size_t)engine->model->shape.heads +
                        (head > 0 ? (size_t)head : 0);
    return (Site){.shape = &engine->model->encoding_shape,
                  .layer = layer,
                  .head = head,
                  .parameters = engine->parameters[layer],
                  .table = engine->tables + run * engine->table_size,
                  .prepared = engine->prepared + unit * engine->prepared_size,
                  .length = engine->batch.length,
                  .positions = engine->positions + run * engine->batch.length};
}

real engine_token_scale(const Engine *engine) {
    const Model *model = engine->model;
    const Encoding *encoding = model->shape.encoding;
    return encoding->token_scale ? (real)encoding->token_scale(&model->encoding_shape) : 1;
}

/* ---- before the layers --------------------------------------------------------------------- */

static void draw_positions(Engine *engine) {
    const ModelShape *shape = &engine->model->shape;
    const Batch *batch = &engine->batch;
    const size_t length = batch->length;
    engine->plain = !shape->positions->drawn && !batch->positions;
    if (batch->positions) {
        memcpy(engine->positions, batch->positions, batch->items * length * sizeof(double));
        return;
    }
    for (size_t layer = 0; layer < engine->layer_runs; layer++)
        for (size_t run = 0; run < engine->runs; run++) {
            Rng rng = rng_stream(batch->seed, RNG_POSITION, batch->step * 64 + layer,
                                 batch->first_item + run);
            shape->positions->draw(shape->position_options, &rng, length,
                                   engine->positions + (layer * engine->runs + run) * length);
        }
}

/* The span of distances between visible pairs, and how bias by distance is looked up. */
static void choose_bias_path(Engine *engine) {
    const size_t length = engine->batch.length;
    bool rising = true, whole = true;
    double most_far = -(double)INFINITY, least_far = (double)INFINITY;
    for (size_t run = 0; run < engine->runs * engine->layer_runs; run++) {
        const double *p = engine->positions + run * length;
        double lowest = p[0], highest = p[0];
        for (size_t i = 0; !engine->model->shape.causal && i < length; i++) {
            lowest = fmin(lowest, p[i]);
            highest = fmax(highest, p[i]);
        }
        for (size_t i = 0; i < length; i++) {
            rising &= p[i] == p[0] + (double)i;
            whole &= p[i] == floor(p[i]) && fabs(p[i]) < 1e12;
            lowest = fmin(lowest, p[i]);
            highest = fmax(highest, p[i]);
            most_far = fmax(most_far, p[i] - lowest);
            least_far = fmin(least_far, p[i] - highest);
        }
    }
    engine->distance_most = most_far;
    engine->distance_least = least_far;
    const double span = most_far - least_far + 1;
    engine->bias_path = !whole || span > FAR_DISTANCE ? BIAS_SCORE
                        : rising                      ? BIAS_ROW
                                                      : BIAS_GATHER;
    engine->span = engine->bias_path == BIAS_SCORE ? 0 : (size_t)span;
    layout_grow_distances(engine, engine->span);
}

/* Distances of entries from … of a bias row. */
static size_t row_distances(const Engine *engine, size_t from, double distance[CHUNK]) {
    const size_t count = least(CHUNK, engine->span - from);
    for (size_t n = 0; n < count; n++) distance[n] = engine->distance_most - (double)(from + n);
    return count;
}

static void make_tables(Engine *engine) {
    const Encoding *encoding = engine->model->shape.encoding;
    const int layers = engine->model->shape.layers, heads = engine->model->shape.heads;
    const bool known = engine->plain && engine->tables_of == engine->batch.length;
    if (!known) draw_positions(engine);
    if (encoding->bias && !known) choose_bias_path(engine);
    if (!encoding->bias) engine->bias_path = BIAS_NONE;
    if (encoding->begin && !known) {
        const size_t runs =
            engine_divides(engine, "tables of positions", engine->runs * engine->layer_runs);
#pragma omp parallel for schedule(dynamic, 1)
        for (size_t run = 0; run < runs; run++) {
            const Site site = engine_site(engine, (int)(run / engine->runs), -1,
                                          run % engine->runs);
            encoding->begin(&site, engine->tables + run * engine->table_size);
        }
    }
    const bool rows = encoding->bias && engine->bias_path != BIAS_SCORE &&
                      (!known || encoding->parameters);
    if (encoding->prepare || rows) {
        const size_t units = engine_divides(engine, "encoding's parameters, prepared",
                                            (size_t)(layers * heads));
#pragma omp parallel for schedule(dynamic, 1)
        for (size_t unit = 0; unit < units; unit++) {
            const Site site = engine_site(engine, (int)unit / heads, (int)unit % heads, 0);
            if (encoding->prepare && site.layer < engine->prepared_layers)
                encoding->prepare(&site, engine->prepared + unit * engine->prepared_size);
            double distance[CHUNK];
            for (size_t from = 0; rows && from < engine->span; from += CHUNK)
                encoding->bias(&site, row_distances(engine, from, distance), distance,
                               engine->bias_rows + unit * engine->span + from);
        }
    }
    engine->tables_of = engine->plain ? engine->batch.length : 0;
}

/* Every matrix once as products read it: packed, and for those of backward the transpose. */
static void pack_weights(Engine *engine) {
    const Model *model = engine->model;
    const size_t count = engine_divides(engine, "weights, packed", (size_t)model->parameter_count);
#pragma omp parallel for schedule(dynamic, 1)
    for (size_t i = 0; i < count; i++) {
        const Parameter *p = &model->parameters[i];
        const bool embedding = p->offset == model->embedding;
        if (p->rank != 2 || p->encoding_index >= 0) continue;
        if (embedding && model->output != NONE) continue;
        const real *from = model->values + p->offset;
        /* a tied output is the transpose of the embedding in forward, the embedding in backward */
        if (engine->training || !embedding)
            gemm_pack(engine->packed + p->offset, from, p->dims[0], p->dims[1]);
        if (engine->training || embedding)
            gemm_pack_transposed(engine->transposed + p->offset, from, p->dims[1], p->dims[0]);
    }
}

/* ---- phases -------------------------------------------------------------------------------- */

const char *const phase_names[PHASES] = {
    "embedding",         "linear forward",     "linear backward",
    "norms",             "attention forward",  "attention backward",
    "output and loss",   "gradient sums"};

void engine_phases(Engine *engine, double seconds[PHASES], bool reset) {
    for (int phase = 0; phase < PHASES; phase++) {
        seconds[phase] = 0;
        for (int thread = 0; thread < engine->threads; thread++) {
            seconds[phase] += engine->scratch[thread].seconds[phase];
            if (reset) engine->scratch[thread].seconds[phase] = 0;
        }
    }
}

size_t engine_divides(Engine *engine, const char *work, size_t tasks) {
    size_t i = 0;
    while (i < engine->loop_count && (strcmp(engine->loops[i].work, work) != 0 ||
                                      engine->loops[i].tasks != tasks))
        i++;
    if (i < ENGINE_LOOPS) {
        engine->loops[i].work = work;
        engine->loops[i].tasks = tasks;
        engine->loops[i].times++;
        engine->loop_count = most(engine->loop_count, i + 1);
    }
    return tasks;
}

size_t engine_loops(Engine *engine, EngineLoop loops[ENGINE_LOOPS], bool reset) {
    const size_t count = engine->loop_count;
    memcpy(loops, engine->loops, count * sizeof *loops);
    if (reset) memset(engine->loops, 0, sizeof engine->loops), engine->loop_count = 0;
    return count;
}

/* A call, whose time goes to a phase. */
#define TIMED(at, phase, ...)                                                                      \
    do {                                                                                           \
        const double start_ = seconds_now();                                                       \
        __VA_ARGS__;                                                                               \
        place_spent((at), (phase), (phase), start_);                                               \
    } while (0)

/* ---- one sequence through all layers, by one thread ----------------------------------------- */

#define FOR_BLOCKS(first, rows, length)                                                            \
    for (size_t first = 0, rows; rows = least((length) - first, BLOCK_ROWS), first < (length);     \
         first += BLOCK_ROWS)

static void unit_forward(const Place *at, int layer, int head) {
    const double start = seconds_now();
    if (at->engine->model->shape.linear) {
        linear_forward(at, layer, head);
    } else {
        Pack *pack = &at->scratch->pack;
        attention_pack(at, layer, head, pack);
        for (size_t block = 0; block < at->engine->query_blocks; block++)
            attention_forward(at, layer, head, pack, block);
    }
    place_spent(at, PHASE_ATTENTION, PHASE_ATTENTION, start);
}

static void unit_backward(const Place *at, int layer, int head) {
    const double start = seconds_now();
    if (at->engine->model->shape.linear) {
        linear_backward(at, layer, head);
    } else {
        Pack *pack = &at->scratch->pack;
        attention_pack(at, layer, head, pack);
        for (size_t group = 0; group < at->engine->groups; group++)
            attention_backward(at, layer, head, pack, group);
        attention_finish(at, layer, head);
    }
    place_spent(at, PHASE_ATTENTION_BACKWARD, PHASE_ATTENTION_BACKWARD, start);
}

static void sequence_forward(const Place *at) {
    const ModelShape *shape = &at->engine->model->shape;
    const size_t length = at->engine->batch.length;
    TIMED(at, PHASE_EMBEDDING, block_embed(at));
    for (int layer = 0; layer < shape->layers; layer++) {
        FOR_BLOCKS(first, rows, length)
        TIMED(at, PHASE_LINEAR, block_qkv_forward(at, layer, first, rows));
        for (int head = 0; head < shape->heads; head++) unit_forward(at, layer, head);
        FOR_BLOCKS(first, rows, length)
        TIMED(at, PHASE_LINEAR, block_mlp_forward(at, layer, first, rows));
    }
}

static void sequence_head(const Place *at, real *slot) {
    FOR_BLOCKS(first, rows, at->engine->batch.length)
    TIMED(at, PHASE_LOSS, block_head(at, first, rows, slot));
}

static void sequence_backward(const Place *at, int layer, real *slot) {
    const Engine *engine = at->engine;
    const size_t length = engine->batch.length;
    FOR_BLOCKS(first, rows, length)
    TIMED(at, PHASE_LINEAR_BACKWARD, block_mlp_backward(at, layer, first, rows, slot));
    for (int head = 0; head < engine->model->shape.heads; head++) unit_backward(at, layer, head);
    FOR_BLOCKS(first, rows, length)
    TIMED(at, PHASE_LINEAR_BACKWARD, block_qkv_backward(at, layer, first, rows, slot));
}

static Place sequence_place(Engine *engine, size_t item) {
    const int thread = omp_get_thread_num();
    return (Place){.engine = engine,
                   .acts = &engine->activations[thread],
                   .scratch = &engine->scratch[thread],
                   .item = item};
}

/* Layers of different items add to the same numbers. */
static bool layers_share(const Engine *engine) {
    return engine->unit_parameters ||
           (engine->model->shape.encoding->gate_backward && engine->prepared_layers == 1);
}

/* An item forward and backward. A layer is a stage of the chain: the next item of the slot may be
   in a layer above while this one goes on below. */
static void train_sequence(Engine *engine, Link link, size_t item, const void *unused) {
    (void)unused;
    const Place at = sequence_place(engine, item);
    real *slot = engine->slots + engine_slot(engine, item, 0) * engine->model->count;
    const bool one_by_one = layers_share(engine);
    sequence_forward(&at);
    link_wait(link, 0);
    sequence_head(&at, slot);
    if (!one_by_one) link_pass(link, 0);
    const int layers = engine->model->shape.layers;
    for (int layer = layers; layer-- > 0;) {
        const size_t stage = (size_t)(layers - layer);
        if (!one_by_one) link_wait(link, stage);
        sequence_backward(&at, layer, slot);
        if (!one_by_one) link_pass(link, stage);
    }
    if (one_by_one) link_pass(link, 0);
    TIMED(&at, PHASE_EMBEDDING, block_embed_backward(&at));
}

static void run_by_sequence(Engine *engine) {
    if (!engine->training) {
        const size_t items = engine_divides(engine, "sequences", engine->batch.items);
#pragma omp parallel for schedule(dynamic, 1)
        for (size_t item = 0; item < items; item++) {
            const Place at = sequence_place(engine, item);
            sequence_forward(&at);
            sequence_head(&at, NULL);
        }
        return;
    }
    chains_run(engine, "sequences, forward and backward", train_sequence, NULL);
}

/* ---- layer by layer, all threads on the whole batch ------------------------------------------ */

static Place batch_place(Engine *engine, size_t item) {
    return (Place){.engine = engine,
                   .acts = engine->activations,
                   .scratch = &engine->scratch[omp_get_thread_num()],
                   .item = item,
                   .local = item};
}

typedef void BlockForward(const Place *at, int layer, size_t first, size_t rows);
typedef void BlockBackward(const Place *at, int layer, size_t first, size_t rows, real *slot);

static void blocks_forward(Engine *engine, Phase phase, BlockForward *block, int layer) {
    const size_t length = engine->batch.length, blocks = (length + BLOCK_ROWS - 1) / BLOCK_ROWS;
    const size_t tasks = engine_divides(engine, "row blocks", engine->batch.items * blocks);
#pragma omp parallel for schedule(dynamic, 1)
    for (size_t index = 0; index < tasks; index++) {
        const Place at = batch_place(engine, index / blocks);
        const size_t first = index % blocks * BLOCK_ROWS;
        TIMED(&at, phase, block(&at, layer, first, least(length - first, BLOCK_ROWS)));
    }
}

typedef struct {
    Phase phase;
    BlockBackward *block;
    int layer;
} LayerBackward;

static void layer_backward(Engine *engine, Link link, size_t index, const void *what) {
    const LayerBackward *of = what;
    const size_t length = engine->batch.length, blocks = (length + BLOCK_ROWS - 1) / BLOCK_ROWS;
    const size_t item = index / blocks, block = index % blocks, first = block * BLOCK_ROWS;
    real *slot = engine->slots + engine_slot(engine, item, block) * engine->model->count;
    Place at = batch_place(engine, item);
    at.link = link;
    TIMED(&at, of->phase,
          of->block(&at, of->layer, first, least(length - first, BLOCK_ROWS), slot));
}

static void blocks_backward(Engine *engine, Phase phase, BlockBackward *block, int layer) {
    const LayerBackward what = {phase, block, layer};
    chains_run(engine, "row blocks, backward", layer_backward, &what);
}

static void embed_block(const Place *at, int layer, size_t first, size_t rows) {
    (void)layer, (void)rows;
    if (!first) block_embed(at);
}
static void head_block(const Place *at, int layer, size_t first, size_t rows) {
    (void)layer;
    block_head(at, first, rows, NULL);
}
static void head_block_backward(const Place *at, int layer, size_t first, size_t rows, real *slot) {
    (void)layer;
    block_head(at, first, rows, slot);
}
static void embed_block_backward(const Place *at, int layer, size_t first, size_t rows) {
    (void)layer, (void)rows;
    if (!first) block_embed_backward(at);
}

static void pack_units(Engine *engine, int layer) {
    const size_t heads = (size_t)engine->model->shape.heads;
    const size_t pairs = engine_divides(engine, "heads, packed", engine->batch.items * heads);
#pragma omp parallel for schedule(dynamic, 1)
    for (size_t pair = 0; pair < pairs; pair++) {
        const Place at = batch_place(engine, pair / heads);
        TIMED(&at, PHASE_ATTENTION,
              attention_pack(&at, layer, (int)(pair % heads), &engine->packs[pair]));
    }
}

static void units_forward(Engine *engine, int layer) {
    const size_t heads = (size_t)engine->model->shape.heads, pairs = engine->batch.items * heads;
    if (engine->whole_unit) {
        engine_divides(engine, "heads, attention forward", pairs);
#pragma omp parallel for schedule(dynamic, 1)
        for (size_t pair = 0; pair < pairs; pair++) {
            const Place at = batch_place(engine, pair / heads);
            unit_forward(&at, layer, (int)(pair % heads));
        }
        return;
    }
    pack_units(engine, layer);
    const size_t tasks = engine_divides(engine, "query blocks, attention forward",
                                        pairs * engine->query_blocks);
    /* late blocks see the most keys: they go first */
#pragma omp parallel for schedule(dynamic, 1)
    for (size_t index = 0; index < tasks; index++) {
        const size_t pair = index % pairs, block = engine->query_blocks - 1 - index / pairs;
        const Place at = batch_place(engine, pair / heads);
        TIMED(&at, PHASE_ATTENTION,
              attention_forward(&at, layer, (int)(pair % heads), &engine->packs[pair], block));
    }
}

static void units_backward(Engine *engine, int layer) {
    const size_t heads = (size_t)engine->model->shape.heads, pairs = engine->batch.items * heads;
    if (engine->whole_unit) {
        engine_divides(engine, "heads, attention backward", pairs);
#pragma omp parallel for schedule(dynamic, 1)
        for (size_t pair = 0; pair < pairs; pair++) {
            const Place at = batch_place(engine, pair / heads);
            unit_backward(&at, layer, (int)(pair % heads));
        }
        return;
    }
    pack_units(engine, layer);
    const size_t tasks = engine_divides(engine, "groups of query blocks, attention backward",
                                        pairs * engine->groups);
#pragma omp parallel for schedule(dynamic, 1)
    for (size_t index = 0; index < tasks; index++) {
        const size_t pair = index / engine->groups;
        const Place at = batch_place(engine, pair / heads);
        TIMED(&at, PHASE_ATTENTION_BACKWARD,
              attention_backward(&at, layer, (int)(pair % heads), &engine->packs[pair],
                                 index % engine->groups));
    }
    engine_divides(engine, "heads, sums of groups", pairs);
#pragma omp parallel for schedule(dynamic, 1)
    for (size_t pair = 0; pair < pairs; pair++) {
        const Place at = batch_place(engine, pair / heads);
        TIMED(&at, PHASE_ATTENTION_BACKWARD, attention_finish(&at, layer, (int)(pair % heads)));
    }
}

static void run_by_layer(Engine *engine) {
    const ModelShape *shape = &engine->model->shape;
    blocks_forward(engine, PHASE_EMBEDDING, embed_block, 0);
    for (int layer = 0; layer < shape->layers; layer++) {
        blocks_forward(engine, PHASE_LINEAR, block_qkv_forward, layer);
        units_forward(engine, layer);
        blocks_forward(engine, PHASE_LINEAR, block_mlp_forward, layer);
    }
    if (!engine->training) {
        blocks_forward(engine, PHASE_LOSS, head_block, 0);
        return;
    }
    blocks_backward(engine, PHASE_LOSS, head_block_backward, 0);
    for (int layer = shape->layers; layer-- > 0;) {
        blocks_backward(engine, PHASE_LINEAR_BACKWARD, block_mlp_backward, layer);
        units_backward(engine, layer);
        blocks_backward(engine, PHASE_LINEAR_BACKWARD, block_qkv_backward, layer);
    }
    if (shape->dropout > 0) blocks_forward(engine, PHASE_EMBEDDING, embed_block_backward, 0);
}

/* ---- after the layers: gradients in a fixed order -------------------------------------------- */

static void sum_slots(Engine *engine, bool add, real *gradients) {
    const size_t count = engine->model->count;
    const size_t pieces = engine_divides(engine, "pieces of the gradient, summed over slots",
                                         (count + REDUCE_BLOCK - 1) / REDUCE_BLOCK);
#pragma omp parallel for schedule(static)
    for (size_t piece = 0; piece < pieces; piece++) {
        const double start = seconds_now();
        const size_t from = piece * REDUCE_BLOCK, to = least(from + REDUCE_BLOCK, count);
        for (size_t i = from; i < to; i++) {
            real sum = add ? gradients[i] : 0;
            for (size_t slot = 0; slot < SLOTS; slot++) sum += engine->slots[slot * count + i];
            gradients[i] = sum;
        }
        engine->scratch[omp_get_thread_num()].seconds[PHASE_SUM] += seconds_now() - start;
    }
}

/* The encoding's gradients of one head: units in order, then the hooks, layer by layer; slots of
   all layers together where these share what is prepared. */
static void head_gradients(Engine *engine, int head) {
    const Model *model = engine->model;
    const Encoding *encoding = model->shape.encoding;
    const size_t heads = (size_t)model->shape.heads, sharers = engine->sharers;
    const size_t count = model->count - engine->encoding_from;
    real *mine = engine->head_parameters + (size_t)head * count;
    memset(mine, 0, count * sizeof(real));
    if (encoding->bias_backward && engine->bias_path == BIAS_SCORE)
        for (size_t item = 0; item < sharers; item++)
            for (size_t group = 0; group < engine->groups; group++) {
                const size_t unit = (item * heads + (size_t)head) * engine->groups + group;
                for (size_t i = 0; i < count; i++)
                    mine[i] += engine->unit_parameters[unit * count + i];
            }
    real *total = NULL;
    for (int layer = 0; layer < model->shape.layers; layer++) {
        const Site site = engine_site(engine, layer, head, 0);
        real *gradients[ENCODING_PARAMETERS];
        for (int k = 0; k < ENCODING_PARAMETERS; k++)
            gradients[k] = mine + (model->layers[layer].encoding[k] - engine->encoding_from);
        const size_t of_layer = (size_t)layer * engine_units(engine);
        if (encoding->bias_backward && engine->bias_path != BIAS_SCORE)
            for (size_t from = 0; from < engine->span; from += CHUNK) {
                double distance[CHUNK], sum[CHUNK] = {0};
                const size_t chunk = row_distances(engine, from, distance);
                for (size_t item = 0; item < sharers; item++)
                    for (size_t group = 0; group < engine->groups; group++) {
                        const size_t unit =
                            of_layer + (item * heads + (size_t)head) * engine->groups + group;
                        const double *add = engine->unit_distances + unit * engine->span + from;
                        for (size_t n = 0; n < chunk; n++) sum[n] += add[n];
                    }
                encoding->bias_backward(&site, chunk, distance, sum, gradients);
            }
        if (!engine->slot_size) continue;
        const bool apart = engine->prepared_layers > 1;
        if (!layer || apart)
            total = engine->unit_slots +
                    (of_layer + (size_t)head * engine->groups) * engine->slot_size;
        for (size_t item = 0; item < sharers; item++)
            for (size_t group = 0; group < engine->groups; group++) {
                const size_t unit =
                    of_layer + (item * heads + (size_t)head) * engine->groups + group;
                const real *add = engine->unit_slots + unit * engine->slot_size;
                for (size_t i = 0; add != total && i < engine->slot_size; i++) total[i] += add[i];
            }
        if (apart || layer + 1 == model->shape.layers)
            encoding->prepare_backward(&site, total, gradients);
    }
}

static void encoding_gradients(Engine *engine, real *gradients) {
    const Encoding *encoding = engine->model->shape.encoding;
    const int heads = engine->model->shape.heads;
    const size_t from = engine->encoding_from, count = engine->model->count - from;
    if (!encoding->bias_backward && !engine->slot_size) return;
    engine_divides(engine, "heads, the encoding's gradients", (size_t)heads);
#pragma omp parallel for schedule(dynamic, 1)
    for (int head = 0; head < heads; head++) {
        const double start = seconds_now();
        head_gradients(engine, head);
        engine->scratch[omp_get_thread_num()].seconds[PHASE_SUM] += seconds_now() - start;
    }
    for (size_t head = 0; head < (size_t)heads; head++)
        for (size_t i = 0; i < count; i++)
            gradients[from + i] += engine->head_parameters[head * count + i];
}

/* Tables that rows were looked up in: threads share the channels, so no element is shared. */
static void embedding_gradients(Engine *engine, real *gradients) {
    const Model *model = engine->model;
    const Encoding *encoding = model->shape.encoding;
    const size_t width = (size_t)model->shape.width, length = engine->batch.length;
    const size_t pieces =
        engine_divides(engine, "channels of the embedding's gradient",
                       (width + CHANNELS - 1) / CHANNELS);
#pragma omp parallel for schedule(dynamic, 1)
    for (size_t piece = 0; piece < pieces; piece++) {
        const double start = seconds_now();
        const size_t from = piece * CHANNELS, to = least(from + CHANNELS, width);
        real *of_encoding[ENCODING_PARAMETERS];
        for (int k = 0; k < ENCODING_PARAMETERS; k++)
            of_encoding[k] = gradients + model->layers[0].encoding[k];
        for (size_t item = 0; item < engine->batch.items; item++) {
            const real *dx = engine->dx + item * engine->length_padded * width;
            embedding_backward(gradients + model->embedding, dx,
                               engine->batch.tokens + item * length, engine_token_scale(engine),
                               length, width, from, to);
            if (encoding->embed_backward) {
                const Site site = engine_site(engine, 0, -1, item);
                encoding->embed_backward(&site, dx, from, to, of_encoding);
            }
        }
        engine->scratch[omp_get_thread_num()].seconds[PHASE_EMBEDDING] += seconds_now() - start;
    }
}

/* ---- passes ---------------------------------------------------------------------------------- */

void engine_begin(Engine *engine, const Batch *batch, const ModelOutput *output, bool training) {
    CHECK(omp_get_max_threads() <= engine->threads, "an engine made for %d threads runs with %d",
          engine->threads, omp_get_max_threads());
    layout_take(engine, batch, training);
    engine->output = *output;
    make_tables(engine);
    pack_weights(engine);
}

static void run(Engine *engine) {
    if (engine->by_sequence) run_by_sequence(engine);
    else run_by_layer(engine);
}

void engine_forward(Engine *engine, const Batch *batch, const ModelOutput *output) {
    engine_begin(engine, batch, output, false);
    run(engine);
}

void engine_gradient(Engine *engine, const Batch *batch, double weight, bool add, real *gradients,
                     const ModelOutput *output) {
    engine_begin(engine, batch, output, true);
    engine->weight = weight;
    const size_t count = engine->model->count;
#pragma omp parallel for schedule(static, 1)
    for (size_t slot = 0; slot < SLOTS; slot++)
        memset(engine->slots + slot * count, 0, count * sizeof(real));
    if (engine->unit_parameters)
        memset(engine->unit_parameters, 0,
               engine_units(engine) * (count - engine->encoding_from) * sizeof(real));
    run(engine);
    sum_slots(engine, add, gradients);
    encoding_gradients(engine, gradients);
    embedding_gradients(engine, gradients);
}
