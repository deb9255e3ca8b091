/* encoding: the contract between a positional encoding and the engine.
 *
 * RoFormer (arXiv 2104.09864) writes every encoding as functions f_q(x_m, m), f_k(x_n, n),
 * f_v(x_n, n). In a transformer position can enter at the places below and at no others. An
 * encoding is one file encodings/NAME.c with one `const Encoding encoding_NAME`, and one line in
 * encodings/list.h; it fills the hooks that it needs and leaves the others NULL ("nothing here").
 *
 * Order in one step, for every layer:
 *
 *   positions of the batch (model.positions) → begin (tables of positions)
 *   prepare (tables of parameters, once a layer and head, or a head for all layers)
 *   layer 0 only: embed                         rows of x += function of position
 *   norm → q, k, v → gate                       a few numbers a token and head, from layer input
 *   scan                                        along the sequence of one (item, head)
 *   rotate                                      rows of q and k of one (item, head)
 *   for each block of query rows:
 *     open                                      what belongs to the rows alone
 *     for each tile of keys, from the last to the first:
 *       scores q·k, + bias (by distance), masked to -inf, + score, softmax or normalise,
 *       probabilities · v, + value
 *
 * Backward runs the twins in the opposite order; tiles from the first to the last.
 *
 * Rules:
 * - Hooks are serial and pure in their arguments: they write only where the comment says.
 * - Forward hooks overwrite or add as said; backward hooks accumulate (+=) into every gradient,
 *   except that `ds` and `dp` are turned in place: from the gradient of what the hook left into the
 *   gradient of what it found.
 * - Scores are natural logarithms in final units. q is multiplied by scale() before any hook of a
 *   tile sees it, so a hook that writes q·a writes a score.
 * - Masked scores are -inf before `score` sees them: sigmoid gates vanish there by themselves.
 * - Carries and scans are double in every build: a float carry loses three digits of the gradient
 *   at 2048 tokens.
 * - Parameter gradients are written only by the hooks that get `gradients`. A tile hook writes to
 *   its slot; the engine sums slots in a fixed order and gives the sum to prepare_backward.
 */
#ifndef ENCODINGS_ENCODING_H
#define ENCODINGS_ENCODING_H

#include "src/base.h"
#include "src/option.h"
#include "src/rng.h"

enum {
    ENCODING_PARAMETERS = 8, /* most parameters of an encoding */
    ENCODING_RANK = 3,       /* most dimensions of one */
    TILE_ROWS = 64,          /* most rows of a query block */
    TILE_COLUMNS = 256,      /* most columns of a tile of keys */
    WHOLE_MOST = 1 << 28     /* how far from 0 whole positions may lie: distances fit an int32_t */
};

/* What an encoding may know of the model. */
typedef struct {
    int layers, heads;
    int width;      /* of the residual stream */
    int head_width; /* width / heads */
    int qk_width;   /* of q and k after `rotate`: head_width unless the encoding widens them */
    bool causal;
    size_t trained_length; /* the longest length trained at so far; 0 when not known yet */
    const void *options;
} EncodingShape;

/* One parameter. With `shared` there is one for all layers, otherwise one a layer. Initial values
   N(mean, deviation^2), keyed by the parameter's name. No weight decay, ever. */
typedef struct {
    const char *name;
    int rank;
    size_t dims[ENCODING_RANK];
    bool shared;
    double mean, deviation;
    bool counts_rows; /* the engine counts how often each row of dims[0] got a gradient */
} EncodingParameter;

/* Where a hook runs. Pointers that do not apply are NULL. */
typedef struct {
    const EncodingShape *shape;
    int layer, head;               /* head -1 in hooks that serve all heads */
    const real *const *parameters; /* [k]: the k-th parameter, as this layer sees it */
    const real *table;             /* what begin wrote for these positions */
    const real *prepared;          /* what prepare wrote for this layer and head */
    size_t length;                 /* tokens of the item */
    const double *positions;       /* [length] */
} Site;

/* The rows of one query block. Products (src/gemm.h) count rows in groups of 16: every array of
   rows has room for TILE_ROWS of them, whatever `rows` is. */
typedef struct {
    size_t first;        /* token of row 0, a multiple of 16 */
    int rows;
    const real *q;       /* [rows, qk_width], rotated, times scale() */
    real *scratch;       /* [rows, row_scratch] written by open, read by score and value */
    real *dq;            /* [rows, qk_width]                (backward) */
    real *dscratch;      /* [rows, row_scratch], zero before the first tile (backward) */
    double *carry;       /* [rows, carries]; zero before the first tile (forward), the final carry
                            before the first tile (backward) */
    double *dcarry;      /* [rows, carries], zero before the first tile (backward) */
    const double *scans; /* [rows, scans] of the rows */
    double *dscans;
} QueryBlock;

/* One tile of scores: rows of a query block against a run of keys. */
typedef struct {
    size_t first;         /* token of column 0, a multiple of 16 */
    int keys;             /* columns that are tokens: those that have a position */
    int columns;          /* keys rounded up to a multiple of 16; the rest is masked, its k, kt and
                             scans are finite */
    int stride;           /* of s, ds, p, dp and of the rows of kt */
    const real *k;        /* [columns, qk_width] rotated */
    const real *kt;       /* [qk_width, stride] the same, transposed */
    real *dk;             /* [columns, qk_width]            (backward) */
    real *scratch;        /* [rows, stride] x score_scratch, from score to its twin: plane n starts
                             at n * TILE_ROWS * stride */
    const double *scans;  /* [columns, scans] of the keys */
    double *dscans;
    bool again;           /* score and normalise run a second time, for the backward pass: the
                             tiles come in the opposite order, so the carry is rewound first */
} KeyTile;

typedef enum { ROTATE_QUERY, ROTATE_KEY } RotateSide;

/* A table that carries position, for the result file: values[dims...] named by axes. */
typedef struct {
    const char *name; /* "frequency", "table", "bias_by_distance" */
    int rank;
    size_t dims[4];
    const char *axes[4];    /* "position", "channel", "pair", "head", "layer", "distance", … */
    const double *values;   /* row-major, valid during the call */
    const char *kind;       /* "fixed" or "learned" */
    const char *convention; /* what a reader must know: pair layout, exponent, sign of distance */
    const char *unit;       /* "" when it has none */
    int counted;            /* index of the parameter whose update counts belong to axis 0, or -1 */
} PositionTable;
typedef void (*PositionTableSink)(void *to, const PositionTable *table);

typedef struct Encoding {
    const char *name;
    const char *summary; /* one line */
    const char *source;  /* paper, equation */
    const Option *options;
    size_t options_size; /* <= OPTION_STRUCT_SIZE */

    /* --- what the engine needs to know before it lays out memory -------------------------- */

    const char *needs_causal;   /* NULL, or why it is meaningless in a bidirectional model: a clause
                                   of which it is the subject */
    bool needs_even_head_width;
    bool needs_whole_positions; /* fractional ones and those beyond WHOLE_MOST are refused */

    /* Fills the list, returns its length. shape->options are set. */
    int (*parameters)(const EncodingShape *shape, EncodingParameter list[ENCODING_PARAMETERS]);

    /* NULL, or the reason why this model cannot have these options, as a clause that starts with
       the option ("fraction = 0.25 of a head of 10 gives 2.5 channels; it must be ..."). */
    const char *(*refuse)(const EncodingShape *shape);

    /* Of an option that is a function (OPTION_FUNCTION): the values of its arguments in sequences
       of `length` tokens with positions up to `largest`, one range an argument. NULL: it has none.
       Until the function is there (in tests it may be missing) the encoding adds nothing. */
    void (*ranges)(const EncodingShape *shape, size_t length, double largest,
                   FunctionRange ranges[FUNCTION_ARGUMENTS]);

    /* NULL, or the reason why a sequence of `length` tokens with positions up to `largest` is not
       defined ("learned has 64 positions, length 65 needs 65"). Valid until the next call. */
    const char *(*defined)(const EncodingShape *shape, size_t length, double largest);

    int (*qk_width)(const EncodingShape *shape);              /* NULL: head_width */
    double (*scale)(const EncodingShape *shape);              /* NULL: 1 / sqrt(head_width) */
    double (*token_scale)(const EncodingShape *shape);        /* of token embeddings, before embed
                                                                 adds to them; NULL: 1 */
    size_t (*window)(const EncodingShape *shape, int head);   /* NULL, or SIZE_MAX for a head: no
                                                                 window. A key is visible iff
                                                                 0 <= distance < window */
    size_t (*table_size)(const EncodingShape *shape, size_t length);     /* reals begin writes */
    size_t (*prepared_size)(const EncodingShape *shape, size_t length);  /* reals prepare writes */
    size_t (*slot_size)(const EncodingShape *shape, size_t length);      /* reals of a slot */
    int (*row_scratch)(const EncodingShape *shape);           /* reals a query row */
    int gates;         /* numbers a token and head that gate writes */
    int scans;         /* doubles a token and head that scan writes */
    int carries;       /* doubles a query row that tiles hand on; needs a causal model */
    int score_scratch; /* reals a score, from score (or normalise) to its twin */

    /* --- places where position enters ----------------------------------------------------- */

    /* Tables of positions and options: table[table_size] overwritten. Once a length; once a batch
       when positions are drawn. */
    void (*begin)(const Site *site, real *table);

    /* Parameters → what other hooks read: prepared[prepared_size] of this layer and head
       overwritten; hooks that serve all heads see head 0's. dprepared is the sum of the slots,
       whose layout is private to the encoding. Where the layers share all parameters, they share
       what is prepared too: both hooks run for one layer alone, with the slots of all. */
    void (*prepare)(const Site *site, real *prepared);
    void (*prepare_backward)(const Site *site, const real *slot, real *const *gradients);

    /* x[length, width] += function of position, before the first layer. The backward twin gets the
       channels [from, to) only and runs in parallel over disjoint channels. */
    void (*embed)(const Site *site, real *x);
    void (*embed_backward)(const Site *site, const real *dx, size_t from, size_t to,
                           real *const *gradients);

    /* Layer input rows [rows, width] (after the norm) → gate[rows, heads * gates] overwritten.
       Backward adds to dx. */
    void (*gate)(const Site *site, size_t rows, const real *x, real *gate);
    void (*gate_backward)(const Site *site, size_t rows, const real *x, const real *dgate,
                          real *dx, real *const *gradients);

    /* Along one sequence and head: gate[length, gates] with `stride` reals from token to token →
       scan[length, scans] overwritten. Backward: dgate overwritten, with the same stride. */
    void (*scan)(const Site *site, const real *gate, size_t stride, double *scan);
    void (*scan_backward)(const Site *site, const real *gate, size_t stride, const double *scan,
                          const double *dscan, real *dgate);

    /* Rows first .. first + rows - 1 of q or k of one item and head: x[rows, head_width] with
       `stride` reals a row → out[rows, qk_width] overwritten. Backward: dx overwritten with the
       same stride; parameters' gradients into the slot. */
    void (*rotate)(const Site *site, RotateSide side, size_t first, size_t rows, const real *x,
                   size_t stride, real *out);
    void (*rotate_backward)(const Site *site, RotateSide side, size_t first, size_t rows,
                            const real *x, size_t stride, const real *dout, real *dx, real *slot);

    /* A function of distance (query position - key position), for this layer and head:
       out[n] overwritten. The engine keeps rows of it, gathers, and sums its gradient by distance.
       Every distance must be defined, negative ones too. */
    void (*bias)(const Site *site, size_t n, const double *distance, real *out);
    void (*bias_backward)(const Site *site, size_t n, const double *distance, const double *dout,
                          real *const *gradients);

    /* Once a query block: scratch[rows, row_scratch] overwritten. Backward after the last tile:
       dscratch → dq and the slot. */
    void (*open)(const Site *site, QueryBlock *block);
    void (*open_backward)(const Site *site, QueryBlock *block, real *slot);

    /* s[rows, stride] += something; may advance the carry. Backward: ds in place; adds to dq,
       dscratch, dk, dscans, dcarry and the slot. What it needs of the scores, score leaves in the
       tile's scratch: score runs again before it. */
    void (*score)(const Site *site, QueryBlock *block, KeyTile *tile, real *s);
    void (*score_backward)(const Site *site, QueryBlock *block, KeyTile *tile, real *ds,
                           real *slot);

    /* Replaces the softmax: s[rows, stride] → probabilities in place. Backward: p as forward left
       it; dp in place from the gradient of the probabilities to that of the scores. */
    void (*normalise)(const Site *site, QueryBlock *block, KeyTile *tile, real *s);
    void (*normalise_backward)(const Site *site, QueryBlock *block, KeyTile *tile, const real *p,
                               real *dp);

    /* o[rows, head_width] += something linear in the (unnormalised) probabilities p. Backward:
       dp += its gradient; do[rows, head_width] is the gradient of the output rows; p normalised. */
    void (*value)(const Site *site, QueryBlock *block, KeyTile *tile, const real *p, real *o);
    void (*value_backward)(const Site *site, QueryBlock *block, KeyTile *tile, const real *p,
                           const real *dout, real *dp, real *slot);

    /* --- around training ------------------------------------------------------------------ */

    /* After an optimizer step: brings the parameters of one layer back into their range. */
    void (*project)(const EncodingShape *shape, real *const *parameters);

    /* Parameter k of a model that was trained as `from` grows for `to`, whose dims[0] is larger:
       grown[...] from old[...]. What the hook leaves alone keeps its initial values. NULL: no
       parameter depends on the length. */
    void (*extend)(const EncodingShape *from, const EncodingShape *to, int k, const real *old,
                   real *grown);

    /* Gives every table that it uses or has learned, for positions or distances 0 .. length-1.
       parameters[layer][k]. */
    void (*tables)(const EncodingShape *shape, const real *const *const *parameters, size_t length,
                   PositionTableSink sink, void *to);
} Encoding;

/* The registry, in the order of list.h. */
extern const Encoding *const encodings[];
extern const size_t encoding_count;
const Encoding *encoding_find(const char *name); /* NULL when there is none */

/* Where positions come from, beside any encoding (model.positions). */
typedef struct {
    const char *name;
    const char *summary;
    const char *source;
    const Option *options;
    size_t options_size;
    bool drawn;      /* differ from batch to batch */
    bool fractional; /* refused for encodings that need whole positions */
    /* positions[length] of one item in one layer. */
    void (*draw)(const void *options, Rng *rng, size_t length, double *positions);
    /* The largest position that draw can give for that length. */
    double (*largest)(const void *options, size_t length);
    /* NULL or the reason why this length cannot be drawn. */
    const char *(*refuse)(const void *options, size_t length);
    /* As the hook of an encoding. */
    void (*ranges)(size_t length, FunctionRange ranges[FUNCTION_ARGUMENTS]);
} PositionSource;

extern const PositionSource *const position_sources[];
extern const size_t position_source_count;
const PositionSource *position_source_find(const char *name);

#endif
