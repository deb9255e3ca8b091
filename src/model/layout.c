/* Memory of a pass: how a batch is cut and where its arrays lie. Both depend on the shape alone. */
#include "src/model/engine.h"

#include "src/gemm.h"

#include <math.h>
#include <stdlib.h>

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_max_threads(void) { return 1; }
#endif

size_t engine_items(const Engine *engine) {
    return engine->by_sequence ? 1 : engine->batch.items;
}
size_t engine_rows(const Engine *engine) { return engine_items(engine) * engine->length_padded; }

static size_t row_blocks(const Engine *engine) {
    return (engine->batch.length + BLOCK_ROWS - 1) / BLOCK_ROWS;
}
size_t engine_chained(const Engine *engine) {
    return engine->batch.items * (engine->by_sequence ? 1 : row_blocks(engine));
}
size_t engine_slot(const Engine *engine, size_t item, size_t block) {
    const size_t range = block * engine->ranges / row_blocks(engine);
    return (item * engine->ranges + range) % SLOTS;
}

static size_t encoding_size(size_t (*size)(const EncodingShape *, size_t), const Engine *engine) {
    return size ? size(&engine->model->encoding_shape, engine->batch.length) : 0;
}

/* How a batch of this shape is cut: a function of the shape alone. */
static void cut(Engine *engine) {
    const size_t items = engine->batch.items, length = engine->batch.length;
    const size_t pairs = items * (size_t)engine->model->shape.heads;
    engine->length_padded = round_up(length, GEMM_ROWS);
    engine->tiles = (length + KEY_COLUMNS - 1) / KEY_COLUMNS;
    engine->query_rows = length <= SHORT_LENGTH ? QUERY_ROWS_SHORT : QUERY_ROWS;
    engine->query_blocks =
        (length + (size_t)engine->query_rows - 1) / (size_t)engine->query_rows;
    engine->by_sequence = length <= SEQUENCE_LENGTH && items >= SLOTS;
    const bool linear = engine->model->shape.linear != NULL;
    engine->groups = engine->by_sequence || linear || pairs >= ATTENTION_UNITS
                         ? 1
                         : least((ATTENTION_UNITS + pairs - 1) / pairs, engine->query_blocks);
    /* not the bits, only who does what: */
    engine->whole_unit = engine->by_sequence || linear || pairs >= 2 * (size_t)engine->threads;
    engine->sharers = engine->by_sequence ? SLOTS : items;
    engine->ranges = items >= SLOTS ? 1 : SLOTS / items;
}

static void lay_activations(Engine *engine, Arena *arena, Activations *a) {
    const Model *model = engine->model;
    const Encoding *encoding = model->shape.encoding;
    const size_t width = (size_t)model->shape.width, heads = (size_t)model->shape.heads;
    const size_t mlp = (size_t)model->shape.mlp;
    const size_t d = (size_t)model->encoding_shape.head_width;
    const size_t w = (size_t)model->encoding_shape.qk_width;
    const size_t layers = engine->training ? (size_t)model->shape.layers : 1;
    const size_t rows = engine_rows(engine), all = layers * rows;
    const size_t gates = heads * (size_t)encoding->gates, scans = (size_t)encoding->scans;
    a->x = ARENA_TAKE(arena, rows * width, real);
    a->xhat1 = ARENA_TAKE(arena, all * width, real);
    a->inverse1 = ARENA_TAKE(arena, all, real);
    a->qkv = ARENA_TAKE(arena, all * 3 * width, real);
    a->gate = ARENA_TAKE(arena, all * gates, real);
    a->scan = ARENA_TAKE(arena, all * heads * scans, double);
    a->carry = ARENA_TAKE(arena, all * heads * (size_t)encoding->carries, double);
    a->o = ARENA_TAKE(arena, all * width, real);
    a->lse = ARENA_TAKE(arena, all * heads, real);
    a->xhat2 = ARENA_TAKE(arena, mlp ? all * width : 0, real);
    a->inverse2 = ARENA_TAKE(arena, mlp ? all : 0, real);
    a->u = ARENA_TAKE(arena, all * mlp, real);
    if (!engine->training) return;
    a->d_o = ARENA_TAKE(arena, rows * width, real);
    a->dqkv = ARENA_TAKE(arena, rows * 3 * width, real);
    a->dgate = ARENA_TAKE(arena, rows * gates, real);
    if (model->shape.linear) return; /* nothing is packed */
    a->dq = ARENA_TAKE(arena, rows * heads * w, real);
    a->dk = ARENA_TAKE(arena, rows * heads * engine->groups * w, real);
    a->dv = ARENA_TAKE(arena, rows * heads * engine->groups * d, real);
    a->dscan = ARENA_TAKE(arena, rows * heads * engine->groups * scans, double);
}

static void lay_pack(const Engine *engine, Arena *arena, Pack *pack) {
    const size_t d = (size_t)engine->model->encoding_shape.head_width;
    const size_t w = (size_t)engine->model->encoding_shape.qk_width;
    const size_t rows = engine->length_padded, columns = engine->tiles * KEY_COLUMNS;
    pack->q = ARENA_TAKE(arena, rows * w, real);
    pack->k = ARENA_TAKE(arena, rows * w, real);
    pack->kt = ARENA_TAKE(arena, columns * w, real);
    pack->v = ARENA_TAKE(arena, rows * d, real);
    pack->vt = ARENA_TAKE(arena, engine->training ? columns * d : 0, real);
}

static void lay_linear(const Engine *engine, Arena *arena, LinearScratch *s) {
    const size_t d = (size_t)engine->model->encoding_shape.head_width, rows = LINEAR_ROWS * d;
    real **of_chunk[] = {&s->raw, &s->q, &s->k, &s->turned_q, &s->turned_k, &s->v, &s->out,
                         &s->g, &s->df, &s->transposed};
    for (size_t i = 0; i < sizeof of_chunk / sizeof *of_chunk; i++)
        *of_chunk[i] = ARENA_TAKE(arena, rows, real);
    s->tokens = ARENA_TAKE(arena, engine->batch.length, int32_t);
    s->p = ARENA_TAKE(arena, LINEAR_ROWS * LINEAR_ROWS, real);
    s->sum = ARENA_TAKE(arena, d * d, double);
    for (int i = 0; i < 2; i++) s->state[i] = ARENA_TAKE(arena, d * d, real);
    s->product = ARENA_TAKE(arena, d * d, real);
    s->total = ARENA_TAKE(arena, d, double);
    s->ddenominator = ARENA_TAKE(arena, LINEAR_ROWS, double);
}

static void lay_scratch(const Engine *engine, Arena *arena, Scratch *s) {
    const Model *model = engine->model;
    const Encoding *encoding = model->shape.encoding;
    const size_t width = (size_t)model->shape.width, mlp = (size_t)model->shape.mlp;
    const size_t d = (size_t)model->encoding_shape.head_width;
    const size_t widest = most(most(width, mlp), round_up((size_t)model->shape.vocabulary, 16));
    const size_t tile = (size_t)QUERY_ROWS * KEY_COLUMNS;
    const size_t row =
        encoding->row_scratch ? (size_t)encoding->row_scratch(&model->encoding_shape) : 0;
    s->y = ARENA_TAKE(arena, BLOCK_ROWS * width, real);
    s->dy = ARENA_TAKE(arena, BLOCK_ROWS * width, real);
    s->dout = ARENA_TAKE(arena, model->shape.dropout > 0 ? BLOCK_ROWS * width : 0, real);
    s->wide = ARENA_TAKE(arena, BLOCK_ROWS * widest, real);
    s->wide2 = ARENA_TAKE(arena, BLOCK_ROWS * widest, real);
    s->score = ARENA_TAKE(arena, tile, real);
    s->dscore = ARENA_TAKE(arena, tile, real);
    s->scratch = ARENA_TAKE(arena, tile * (size_t)encoding->score_scratch, real);
    s->o = ARENA_TAKE(arena, QUERY_ROWS * d, real);
    s->d_o = ARENA_TAKE(arena, QUERY_ROWS * d, real);
    s->row = ARENA_TAKE(arena, QUERY_ROWS * row, real);
    s->drow = ARENA_TAKE(arena, QUERY_ROWS * row, real);
    s->carry = ARENA_TAKE(arena, (size_t)(QUERY_ROWS * encoding->carries), double);
    s->dcarry = ARENA_TAKE(arena, (size_t)(QUERY_ROWS * encoding->carries), double);
    s->gather = ARENA_TAKE(arena, QUERY_ROWS + KEY_COLUMNS, real);
    s->distance = ARENA_TAKE(arena, KEY_COLUMNS, double);
    s->ddistance = ARENA_TAKE(arena, KEY_COLUMNS, double);
    if (model->shape.linear) lay_linear(engine, arena, &s->linear);
    else if (engine->whole_unit) lay_pack(engine, arena, &s->pack);
}

size_t engine_units(const Engine *engine) {
    return engine->sharers * (size_t)engine->model->shape.heads * engine->groups;
}

/* The same calls measure and carve. */
static void lay(Engine *engine, Arena *arena) {
    const Model *model = engine->model;
    const Encoding *encoding = model->shape.encoding;
    const size_t layers = (size_t)model->shape.layers, heads = (size_t)model->shape.heads;
    const size_t items = engine->batch.items, length = engine->batch.length;
    const size_t encoding_reals = model->count - engine->encoding_from;
    const bool drawn = model->shape.positions->drawn || engine->batch.positions;
    engine->runs = drawn ? items : 1;
    engine->layer_runs = model->shape.positions->drawn && !engine->batch.positions ? layers : 1;
    engine->table_size = encoding_size(encoding->table_size, engine);
    engine->prepared_size = encoding_size(encoding->prepared_size, engine);
    engine->slot_size = encoding_size(encoding->slot_size, engine);
    const size_t runs = engine->runs * engine->layer_runs;
    engine->positions = ARENA_TAKE(arena, runs * length, double);
    engine->tables = ARENA_TAKE(arena, runs * engine->table_size, real);
    engine->prepared = ARENA_TAKE(
        arena, (size_t)engine->prepared_layers * heads * engine->prepared_size, real);
    for (int thread = 0; thread < engine->threads; thread++)
        lay_scratch(engine, arena, &engine->scratch[thread]);
    const size_t sets = engine->by_sequence ? (size_t)engine->threads : 1;
    for (size_t set = 0; set < sets; set++)
        lay_activations(engine, arena, &engine->activations[set]);
    engine->packs = ARENA_TAKE(arena, engine->whole_unit ? 0 : items * heads, Pack);
    for (size_t pair = 0; !engine->whole_unit && pair < items * heads; pair++) {
        Pack unused;
        lay_pack(engine, arena, engine->packs ? &engine->packs[pair] : &unused);
    }
    engine->packed = ARENA_TAKE(arena, model->count, real);
    engine->transposed = ARENA_TAKE(arena, model->count, real);
    if (!engine->training) return;
    engine->slots = ARENA_TAKE(arena, SLOTS * model->count, real);
    engine->chained = ARENA_TAKE(arena, engine_chained(engine), size_t);
    engine->unit_slots = ARENA_TAKE(arena, layers * engine_units(engine) * engine->slot_size, real);
    engine->unit_parameters = NULL;
    engine->head_parameters = ARENA_TAKE(arena, heads * encoding_reals, real);
    /* Score by score, where positions may be fractional: drawn, or a function's. */
    if (encoding->bias_backward && (drawn || model->shape.positions->ranges))
        engine->unit_parameters = ARENA_TAKE(arena, engine_units(engine) * encoding_reals, real);
    engine->dx =
        ARENA_TAKE(arena, items * engine->length_padded * (size_t)model->shape.width, real);
}

static void grow(void **block, size_t *room, size_t count, size_t size) {
    if (count <= *room) return;
    free(*block);
    *block = allocate(count, size);
    *room = count;
}

void layout_grow_distances(Engine *engine, size_t span) {
    const Encoding *encoding = engine->model->shape.encoding;
    const size_t layers = (size_t)engine->model->shape.layers;
    const size_t heads = (size_t)engine->model->shape.heads;
    if (!encoding->bias) return;
    void *rows = engine->by_distance.bias_rows, *distances = engine->by_distance.unit_distances;
    grow(&rows, &engine->by_distance.rows_room, layers * heads * span, sizeof(real));
    if (engine->training && encoding->bias_backward)
        grow(&distances, &engine->by_distance.distances_room, layers * engine_units(engine) * span,
             sizeof(double));
    if (rows != engine->by_distance.bias_rows) engine->tables_of = 0;
    engine->bias_rows = engine->by_distance.bias_rows = rows;
    engine->unit_distances = engine->by_distance.unit_distances = distances;
}

Engine *engine_create(Model *model) {
    Engine *engine = ALLOCATE(1, Engine);
    engine->model = model;
    engine->threads = omp_get_max_threads();
    engine->scratch = ALLOCATE((size_t)engine->threads, Scratch);
    engine->activations = ALLOCATE((size_t)engine->threads, Activations);
    const Encoding *encoding = model->shape.encoding;
    engine->scale = encoding->scale ? encoding->scale(&model->encoding_shape)
                                    : 1 / sqrt((double)model->encoding_shape.head_width);
    engine->encoding_from = model->count;
    engine->prepared_layers = 1;
    for (int i = 0; i < model->parameter_count; i++) {
        const Parameter *p = &model->parameters[i];
        if (p->encoding_index < 0) continue;
        engine->encoding_from = least(engine->encoding_from, p->offset);
        if (p->layer >= 0) engine->prepared_layers = model->shape.layers;
    }
    for (int l = 0; l < model->shape.layers; l++)
        for (int k = 0; model->values && k < ENCODING_PARAMETERS; k++)
            engine->parameters[l][k] = model->values + model->layers[l].encoding[k];
    return engine;
}

void engine_free(Engine *engine) {
    if (!engine) return;
    arena_free(&engine->arena);
    free(engine->by_distance.bias_rows);
    free(engine->by_distance.unit_distances);
    free(engine->scratch);
    free(engine->activations);
    free(engine);
}

/* Measures the shape of engine->batch: what the arena must have room for at the next pass. */
static void reserve(Engine *engine) {
    Arena measure = {0};
    cut(engine);
    lay(engine, &measure);
    engine->reserved = most(engine->reserved, measure.used);
}

void layout_take(Engine *engine, const Batch *batch, bool training) {
    const bool same = engine->batch.items == batch->items &&
                      engine->batch.length == batch->length && engine->training == training &&
                      !engine->batch.positions == !batch->positions;
    engine->batch = *batch;
    engine->training = training;
    if (same) return;
    reserve(engine);
    if (engine->reserved > engine->arena.size) {
        arena_free(&engine->arena);
        engine->arena.used = engine->reserved;
        arena_allocate(&engine->arena);
    }
    engine->tables_of = 0;
    engine->arena.used = 0;
    lay(engine, &engine->arena);
    if (training) chains_lay(engine);
}

/* The widest span of distances that the model's own source of positions can give. */
static size_t own_span(const Engine *engine) {
    const ModelShape *shape = &engine->model->shape;
    const size_t length = engine->batch.length;
    if (shape->positions->fractional) return 0; /* bias score by score: no rows */
    const double largest = shape->positions->largest(shape->position_options, length);
    if (!shape->positions->drawn && shape->causal)
        return largest < FAR_DISTANCE ? (size_t)largest + 1 : 0;
    return largest < FAR_DISTANCE / 2 ? 2 * (size_t)largest + 1 : 0;
}

void engine_reserve(Engine *engine, size_t items, size_t length, bool training) {
    engine->batch = (Batch){.items = items, .length = length};
    engine->training = training;
    reserve(engine);
    layout_grow_distances(engine, own_span(engine));
    engine->batch.items = 0; /* the next pass lays out its memory */
}

size_t engine_bytes(const Engine *engine) {
    return engine->arena.size + engine->by_distance.rows_room * sizeof(real) +
           engine->by_distance.distances_room * sizeof(double);
}

double engine_bytes_needed(Model *described, size_t items, size_t length, bool training,
                           int threads) {
    Engine *engine = engine_create(described);
    free(engine->scratch);
    free(engine->activations);
    engine->threads = threads;
    engine->scratch = ALLOCATE((size_t)threads, Scratch);
    engine->activations = ALLOCATE((size_t)threads, Activations);
    engine->batch = (Batch){.items = items, .length = length};
    engine->training = training;
    reserve(engine);
    double bytes = (double)engine->reserved;
    const Encoding *encoding = described->shape.encoding;
    if (encoding->bias) {
        const double span = (double)own_span(engine) * described->shape.layers;
        bytes += span * described->shape.heads * sizeof(real);
        if (training && encoding->bias_backward)
            bytes += span * (double)engine_units(engine) * sizeof(double);
    }
    engine_free(engine);
    return bytes;
}
