/* Inside src/model/: how a pass is laid out. attention.c and block.c are serial functions on one
   unit of work; layout.c owns the memory and engine.c drives them, with all OpenMP loops. */
#ifndef SRC_MODEL_ENGINE_H
#define SRC_MODEL_ENGINE_H

#include "src/model/model.h"

#include <stdatomic.h>

enum {
    SLOTS = 8,         /* places where weight gradients gather before they are summed in order */
    BLOCK_ROWS = 128,  /* rows of a row block: its activations stay in L2 */
    QUERY_ROWS = TILE_ROWS, /* rows of a query block; 32 for short sequences */
    QUERY_ROWS_SHORT = 32,
    KEY_COLUMNS = TILE_COLUMNS, /* columns of a tile of keys. Tiles start at multiples of it
                          whatever the length, so a row's bits do not depend on what follows it */
    SHORT_LENGTH = 128,
    SEQUENCE_LENGTH = 512, /* up to here a large batch runs sequence by sequence */
    FAR_DISTANCE = 1 << 22, /* wider spans of distances are not kept as rows of bias */
    ATTENTION_UNITS = 32   /* fewer (item, head) pairs than this are cut into groups */
};

/* What a pass keeps of a set of items: the whole batch, or one item of a thread. Item `local`
   of the set owns rows local * rows_padded … of every row array. In a pass without backward all
   layers share the memory of one. */
typedef struct {
    real *x;                 /* [rows, width] the residual stream */
    real *xhat1, *inverse1;  /* [layers][rows, width], [layers][rows] */
    real *qkv;               /* [layers][rows, 3 width] before rotation */
    real *gate;              /* [layers][rows, heads * gates] */
    double *scan;            /* [layers][items * heads][length_padded, scans] */
    double *carry;           /* [layers][items * heads][length_padded, carries], the final ones */
    real *o;                 /* [layers][rows, width] */
    real *lse;               /* [layers][items * heads][length_padded]; +inf: the row saw nothing.
                                Linear attention: the denominator */
    real *xhat2, *inverse2;
    real *u;                 /* [layers][rows, mlp] before GELU */
    /* backward, one layer's worth */
    real *d_o;               /* [rows, width] */
    real *dqkv;              /* [rows, 3 width] */
    real *dgate;             /* [rows, heads * gates] */
    real *dq;                /* [items * heads][length_padded, qk_width] */
    real *dk, *dv;           /* [items * heads * groups][length_padded, …] */
    double *dscan;           /* [items * heads * groups][length_padded, scans] */
} Activations;

/* The operands of one (item, head), packed for products. */
typedef struct {
    real *q;  /* [length_padded, qk_width] rotated, times the scale */
    real *k;  /* [length_padded, qk_width] rotated */
    real *kt; /* [tiles][qk_width, KEY_COLUMNS] the same transposed */
    real *v;  /* [length_padded, head_width] */
    real *vt; /* [tiles][head_width, KEY_COLUMNS] (backward) */
} Pack;

enum { LINEAR_ROWS = 64 }; /* tokens of a chunk of linear attention */

/* What linear attention needs of one thread; arrays of a chunk are [LINEAR_ROWS, head_width]. */
typedef struct {
    int32_t *tokens;           /* [length] of the segment */
    real *raw;                 /* q or k before the rotation that precedes the feature map */
    real *q, *k;               /* features */
    real *turned_q, *turned_k; /* turned after the feature map */
    real *v, *out;
    real *g, *df;              /* (backward) */
    real *p;                   /* [LINEAR_ROWS, LINEAR_ROWS] weights within the chunk */
    real *transposed;          /* [head_width, LINEAR_ROWS] */
    double *sum;               /* [head_width, head_width] over the chunks so far */
    real *state[2];            /* [head_width, head_width] the sum as an operand, and transposed */
    bool known[2];             /* state is that of the sum as it stands */
    real *product;             /* [head_width, head_width] */
    double *total;             /* [head_width] */
    double *ddenominator;      /* [LINEAR_ROWS] (backward) */
} LinearScratch;

/* Scratch of one thread. */
typedef struct {
    real *y;               /* [BLOCK_ROWS, width] */
    real *wide, *wide2;    /* [BLOCK_ROWS, widest of 3 width, mlp, vocabulary] */
    real *dy;              /* [BLOCK_ROWS, width] */
    real *dout;            /* [BLOCK_ROWS, width] behind dropout */
    real *score, *dscore;  /* [QUERY_ROWS, KEY_COLUMNS] */
    real *scratch;         /* [score_scratch][QUERY_ROWS, KEY_COLUMNS] */
    real *o, *d_o;         /* [QUERY_ROWS, head_width] */
    real *row, *drow;      /* [QUERY_ROWS, row_scratch] */
    double *carry, *dcarry;/* [QUERY_ROWS, carries] */
    real *gather;          /* [QUERY_ROWS + KEY_COLUMNS] bias or its gradient along a tile */
    double *distance;      /* [KEY_COLUMNS] */
    double *ddistance;     /* [KEY_COLUMNS] */
    Pack pack;             /* when a unit is done from packing to end by one thread */
    LinearScratch linear;
    double seconds[PHASES];
} Scratch;

enum { CHAIN_STAGES = MODEL_LAYERS + 1 };

/* The tasks that add to one slot, in order (chains.c). */
typedef struct {
    _Alignas(64) atomic_size_t taken;   /* tasks that threads have begun */
    atomic_size_t passed[CHAIN_STAGES]; /* tasks that have added their part, stage by stage */
    const size_t *tasks;
    size_t count;
} Chain;

/* A task of a chain; no chain: nobody to wait for. */
typedef struct {
    Chain *chain;
    size_t index;
} Link;

/* How bias by distance is found for a tile. */
typedef enum {
    BIAS_NONE,
    BIAS_ROW,    /* positions rise by one everywhere: a contiguous piece of the row */
    BIAS_GATHER, /* whole positions: the row, by index */
    BIAS_SCORE   /* fractional (or very far) positions: the function, score by score */
} BiasPath;

struct Engine {
    Model *model;
    int threads;

    /* the current pass */
    Batch batch;
    ModelOutput output;
    bool training;
    bool by_sequence;     /* one thread takes a sequence through all layers */
    size_t length_padded; /* rows of an item */
    size_t tiles;         /* of keys */
    int query_rows;
    size_t query_blocks;
    size_t groups;        /* of query blocks in backward: a function of the shape alone */
    size_t sharers;       /* items i, i + sharers, … gather an encoding's gradients in one place:
                             they are taken in order */
    size_t ranges;        /* of rows of an item, for the slots: likewise */
    bool whole_unit;      /* enough (item, head) pairs for the threads (or linear attention, where
                             the sum over tokens goes on): each is packed and done by one thread */
    double weight;        /* of a scored token in the loss */

    /* positions and what follows from them */
    bool plain;              /* 0, 1, 2 … for everybody */
    size_t runs, layer_runs; /* runs of positions: an item each (or 1), a layer each (or 1) */
    double *positions;       /* [layer_runs][runs][length] */
    real *tables;            /* [layer_runs][runs][table_size] */
    size_t table_size;
    size_t tables_of;        /* the length that plain tables and fixed rows are made for, or 0 */
    BiasPath bias_path;
    double distance_least, distance_most;
    size_t span;             /* of a bias row */
    real *bias_rows;         /* [layers][heads][span], entry n is distance_most - n */
    size_t prepared_size, slot_size;
    int prepared_layers;     /* 1 where all layers share the encoding's parameters */
    real *prepared;          /* [prepared_layers][heads][prepared_size] */
    double scale;
    const real *parameters[MODEL_LAYERS][ENCODING_PARAMETERS];

    /* backward */
    real *slots;             /* [SLOTS][model->count] */
    size_t *chained;         /* the tasks of all chains: items, or row blocks of items */
    Chain chains[SLOTS];
    real *unit_slots;        /* [layers][sharers][heads][groups][slot_size] */
    double *unit_distances;  /* [layers][sharers][heads][groups][span], d bias by distance */
    real *unit_parameters;   /* [sharers][heads][groups][reals from encoding_from], BIAS_SCORE */
    real *head_parameters;   /* [heads][the same] */
    size_t encoding_from;    /* the encoding's parameters are values[encoding_from …] */
    real *packed;            /* [model->count] every matrix as a right side, at its own offset */
    real *transposed;        /* [model->count] the same of its transpose */
    real *dx;                /* [rows of the batch, width] */

    EngineLoop loops[ENGINE_LOOPS];
    size_t loop_count;

    Activations *activations; /* one, or one a thread */
    Pack *packs;              /* one an (item, head), unless whole_unit */
    Scratch *scratch;         /* one a thread */

    Arena arena;     /* everything above that depends on the shape of the batch */
    size_t reserved; /* bytes: the most that a shape so far needs */
    struct {
        real *bias_rows;
        double *unit_distances;
        size_t rows_room, distances_room;
    } by_distance; /* grows with the span of positions, which drawn ones change */
};

/* ---- layout.c: memory ---------------------------------------------------------------------- */

/* Takes the shape of a batch, and lays out the memory when it is another shape than before. */
void layout_take(Engine *engine, const Batch *batch, bool training);
/* Rows of bias by distance and their gradients, for a span of distances. */
void layout_grow_distances(Engine *engine, size_t span);
/* Places where an encoding's gradients of a layer gather: sharers x heads x groups. */
size_t engine_units(const Engine *engine);

/* ---- engine.c: order ----------------------------------------------------------------------- */

/* Lays out the memory for a batch and makes every table that its passes read. */
void engine_begin(Engine *engine, const Batch *batch, const ModelOutput *output, bool training);

/* An item of a set of activations. */
typedef struct {
    Engine *engine;
    Activations *acts;
    Scratch *scratch;
    size_t item;  /* in the batch */
    size_t local; /* in acts */
    Link link;    /* by whose turn block.c adds to slots */
} Place;

/* Adds the time since `start` to a phase of this thread, and takes it from the phase around it. */
static inline void place_spent(const Place *at, Phase phase, Phase around, double start) {
    const double seconds = seconds_now() - start;
    at->scratch->seconds[phase] += seconds;
    if (around != phase) at->scratch->seconds[around] -= seconds;
}

static inline size_t engine_layer(const Engine *engine, int layer) {
    return engine->training ? (size_t)layer : 0;
}

/* Row `row` of the place's item in an array [layers][rows of acts, width]. */
size_t engine_rows(const Engine *engine); /* rows of a set of activations */
static inline size_t place_row(const Place *at, int layer, size_t row) {
    return engine_layer(at->engine, layer) * engine_rows(at->engine) +
           at->local * at->engine->length_padded + row;
}
/* The unit (item, head) of an array [layers][items * heads of acts]. */
size_t engine_items(const Engine *engine); /* items of a set of activations */
static inline size_t place_unit(const Place *at, int layer, int head) {
    const size_t heads = (size_t)at->engine->model->shape.heads;
    return (engine_layer(at->engine, layer) * engine_items(at->engine) + at->local) * heads +
           (size_t)head;
}

/* Where hooks of this layer, head (-1: all) and item run. */
Site engine_site(const Engine *engine, int layer, int head, size_t item);

/* Notes a loop over threads for engine_loops; returns the number of its tasks. */
size_t engine_divides(Engine *engine, const char *work, size_t tasks);

/* What the embedding of a token is multiplied with. */
real engine_token_scale(const Engine *engine);

/* The slot that gathers the weight gradients of a row block. */
size_t engine_slot(const Engine *engine, size_t item, size_t block);

/* ---- chains.c: tasks that add to slots ------------------------------------------------------ */

/* Tasks of all chains: items where one thread takes an item through all layers, else row blocks. */
size_t engine_chained(const Engine *engine);
/* Fills chains for the shape of the batch. */
void chains_lay(Engine *engine);

typedef void ChainWork(Engine *engine, Link link, size_t task, const void *what);
/* Calls work for every task, on all threads. Between link_wait and link_pass of a stage a task has
   its chain's slot (of that stage) to itself, after the tasks before it. A task passes every stage
   that any task of the chain waits for. */
void chains_run(Engine *engine, const char *name, ChainWork *work, const void *what);
void link_wait(Link link, size_t stage);
void link_pass(Link link, size_t stage);
/* The same inside a block, whose phase does not count the waiting. */
void place_wait(const Place *at, size_t stage, Phase around);

/* ---- attention.c: one (item, head) ------------------------------------------------------ */

void attention_pack(const Place *at, int layer, int head, Pack *pack);
void attention_forward(const Place *at, int layer, int head, const Pack *pack, size_t block);
/* Query blocks group, group + groups, … of the unit. */
void attention_backward(const Place *at, int layer, int head, const Pack *pack, size_t group);
/* Sums the groups; rotates back; writes dqkv and dgate. */
void attention_finish(const Place *at, int layer, int head);

/* ---- linear.c: one (item, head) of linear attention; writes o and the denominators, dqkv ----
   Each segment of an item is gathered by a look at every token, so beside the products there are
   length x segments comparisons: few, next to length x head_width^2 multiplications. */

void linear_forward(const Place *at, int layer, int head);
void linear_backward(const Place *at, int layer, int head);

/* ---- block.c: rows first … first + rows - 1 of an item ------------------------------------ */

void block_embed(const Place *at);
/* Of the item's rows of dx; the tables' gradients are gathered by channel in engine.c. */
void block_embed_backward(const Place *at);
void block_qkv_forward(const Place *at, int layer, size_t first, size_t rows);
void block_qkv_backward(const Place *at, int layer, size_t first, size_t rows, real *slot);
void block_mlp_forward(const Place *at, int layer, size_t first, size_t rows);
void block_mlp_backward(const Place *at, int layer, size_t first, size_t rows, real *slot);
/* Final norm, logits, loss; in training their backward too. */
void block_head(const Place *at, size_t first, size_t rows, real *slot);

#endif
