/* config: one run, as plain C. src/lua/ fills it from a Lua file and overrides; everything else
   only reads it. The tables below declare every key once (src/option.h): validation, `check`,
   docs/CONFIG.md, the editor's annotations, the resolved JSON and the run's identity follow. */
#ifndef SRC_CONFIG_H
#define SRC_CONFIG_H

#include "encodings/encoding.h"
#include "src/model/model.h"
#include "src/option.h"
#include "tasks/task.h"

enum { CONFIG_STAGES = 32 };

/* Room for the option struct of any kind. */
typedef union {
    max_align_t align;
    unsigned char bytes[OPTION_STRUCT_SIZE];
} KindOptions;

typedef enum { DECAY_CONSTANT, DECAY_COSINE, DECAY_LINEAR } Decay; /* words of train.decay */

/* A run of steps with its own length and task options. A config without train.stages has one. */
typedef struct {
    int64_t steps;
    Span length;              /* tokens of a sequence; one draw a batch */
    int64_t batch;            /* sequences a step; 0: train.tokens / length, at least 1 */
    KindOptions task_options; /* the task's options with those that the stage sets */
} Stage;

typedef struct Config {
    char name[OPTION_TEXT_SIZE];
    int64_t seed;
    int64_t init_seed, data_seed; /* seed unless given */

    const Task *task;
    KindOptions task_options;

    struct {
        int64_t layers, width, heads;
        int64_t mlp;    /* width of the MLP as a multiple of width; 0: no MLP */
        bool bias;      /* biases in the linear layers and the norms */
        bool tied;      /* the output matrix is the token embedding */
        bool causal;    /* false: every token sees the whole sequence */
        double dropout; /* after the embedding, attention output and MLP */
        int init; /* ModelInit */
        double init_std;
        const Encoding *encoding;
        KindOptions encoding_options;
        const PositionSource *positions;
        KindOptions position_options;
        const Kind *attention;
        KindOptions attention_options;
    } model;

    struct {
        int64_t steps;      /* without stages */
        Span length;        /* without stages */
        int64_t batch;      /* sequences a step; 0: from tokens */
        int64_t tokens;     /* a step, whatever the length */
        int64_t accumulate; /* micro-batches a step: the batch is cut in this many parts */
        double learning_rate;
        int decay;            /* Decay, over all steps after the warm-up */
        double final_rate;    /* learning rate at the end of the decay, as a share of the peak */
        int64_t warmup;       /* steps of linear warm-up at the start */
        int64_t stage_warmup; /* and at the start of each later stage */
        double weight_decay, beta1, beta2, epsilon;
        double clip;              /* largest global norm of the gradient; 0: no clipping */
        int64_t log_every;        /* steps between lines of events.jsonl and rows of /train */
        int64_t checkpoint_every; /* steps; 0: only when stopped */
        /* A result file whose weights training starts from ("": drawn ones), and the SHA-256 of
           that file. */
        char init_from[OPTION_TEXT_SIZE], init_sha256[OPTION_TEXT_SIZE];
        int64_t snapshot_every;   /* steps between snapshots of learned position tables; 0: none */
        int stage_count;
        Stage stages[CONFIG_STAGES];
        int64_t total_steps; /* of all stages */
        /* train.learning_rate given as a Lua function: its values for steps 1 .. total_steps
           (schedule[step - 1]), used as they are; NULL otherwise. */
        double *schedule;
    } train;

    struct {
        IntegerList lengths;
        int64_t examples; /* a length */
        int64_t every;    /* steps; 0: only at the end */
    } evaluate;

    /* The files that options name (OPTION_FILE), by their path. */
    int file_count;
    File files[CONFIG_STAGES + 1];

    /* What the functions among the options live in (src/lua/functions.c); NULL: there are none. */
    void *script;
    void (*free_script)(void *script);

    /* Where the values came from, for the result file. */
    char *path;      /* the config file */
    char *lua;       /* its text as read, then the text of included files */
    char *overrides; /* a line each, as given */

    /* What src/identity.h writes. */
    char *resolved_json; /* every value, sorted keys, shortest exact numbers. A kind is an object
                            with its name as "kind"; train.steps, length and batch stand in
                            train.stages, also when the config has no stages; a tabulated learning
                            rate is { "sha256": of its doubles }, another function
                            { "sha256": of Function }, and left out where it is not given; a file
                            { "path", "sha256" } */
    char *sources;       /* a line a key: "model.width  256  command line" */
    char *sha256;        /* of resolved_json less the keys that do not change a result */
    char *id;            /* "rope-s1-3f9a2c" */
} Config;

/* The keys outside kinds and stages, by the table of the config that they stand in ("": the config
   itself). Offsets are in Config. */
typedef struct {
    const char *name;
    const char *doc;
    const Option *options;
} ConfigSection;

enum { CONFIG_SECTIONS = 4, CONFIG_KINDS = 4 };
extern const ConfigSection config_sections[CONFIG_SECTIONS];

/* The keys of an element of train.stages, beside the options of the task. Offsets are in Stage. */
extern const Option stage_options[];

/* The keys that hold a kind: task, model.encoding, model.positions, model.attention. */
typedef struct {
    const char *section, *name;
    const char *fallback; /* the kind when the key is not given; NULL: it must be given */
    const char *doc;
    size_t options; /* offset of its KindOptions in Config */
    const size_t *count;
    Kind (*kind)(size_t index);
    void (*choose)(Config *config, size_t index);
    const char *(*chosen)(const Config *config); /* its name */
} ConfigKind;

extern const ConfigKind config_kinds[CONFIG_KINDS];

/* The kind key of that name in a section, or NULL. */
const ConfigKind *config_find_kind(const char *section, const char *name);
/* The place of a kind of that name ("rope") in its registry, or -1. */
int config_kind_index(const ConfigKind *kind, const char *name);

/* The options of linear attention; NULL: softmax. */
const LinearOptions *config_linear(const Config *config);

/* A list of names, for objects with sorted keys and for messages. */
enum { CONFIG_NAMES = 128 };
typedef struct {
    int count;
    const char *list[CONFIG_NAMES];
} ConfigNames;

void config_add_name(ConfigNames *names, const char *name);
void config_add_options(ConfigNames *names, const Option *table);
/* Everything that may stand in a section: options, kinds, other sections, stages. */
ConfigNames config_section_names(const ConfigSection *section);

/* Every option and kind at its default, where it has one. */
void config_defaults(Config *config);

/* Frees what the config owns. */
void config_free(Config *config);

/* The stage that step (from 1) belongs to, and (first, when not NULL) the stage's first step. */
int config_stage(const Config *config, int64_t step, int64_t *first);

/* The learning rate of step (from 1): warm-up, then the decay, times the warm-up of its stage; or
   the tabulated function. */
double config_learning_rate(const Config *config, int64_t step);

/* The longest length of training. */
size_t config_longest(const Config *config);

/* Sequences a step of a stage at that length. */
size_t config_batch_size(const Config *config, const Stage *stage, size_t length);

/* The length and the number of sequences of a step's batch: one draw from (data seed, RNG_LENGTH,
   step). */
void config_batch(const Config *config, int64_t step, size_t *length, size_t *batch);

#endif
