#include "tests/small_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 3,
    STEPS = 2,
    LENGTHS = 3,
    BINS = 4,
    POSITIONS = 48,
    CHANNELS = 32,
    SNAPSHOTS = 2,
    HEADS = 2,
    DISTANCES = 64
};

#define NONE ((double)NAN)

static const int64_t train_step[ROWS] = {10, 20, 30}, train_tokens[ROWS] = {1000, 2000, 3000};
static const double train_loss[ROWS] = {3.5, 2.25, 0.125}, train_accuracy[ROWS] = {0, 0.5, 1},
                    train_rate[ROWS] = {1e-3, 1e-3, 5e-4}, train_norm[ROWS] = {1.5, 1, 0.75},
                    train_speed[ROWS] = {5e4, 6e4, 6e4}, train_seconds[ROWS] = {0.5, 1, 1.5};

/* Length 128 is not defined: the table has 48 positions. */
static const int64_t step[STEPS] = {15, 30}, length[LENGTHS] = {16, 32, 128},
                     examples[STEPS * LENGTHS] = {64, 64, 0, 64, 64, 0};
static const double loss[STEPS * LENGTHS] = {2, 2.5, NONE, 0.25, 1.5, NONE},
                                 tokens[STEPS * LENGTHS] = {0.5, 0.25, NONE, 0.96875, 0.5, NONE},
                                 low[STEPS * LENGTHS] = {0.4, 0.2, NONE, 0.95, 0.4, NONE},
                                 high[STEPS * LENGTHS] = {0.6, 0.3, NONE, 0.98, 0.6, NONE},
                                 sequences[STEPS * LENGTHS] = {0, 0, NONE, 0.75, 0, NONE},
                                 chance[LENGTHS] = {0.03125, 0.03125, 0.03125},
                                 majority[LENGTHS] = {0.04, 0.04, NONE};
static const uint8_t defined[LENGTHS] = {1, 1, 0};
static const char *const reason[LENGTHS] = {NULL, "", "learned has 48 positions, 128 needs 128"};

static const int64_t bin[BINS] = {0, 4, 8, 12}, bin_count[BINS] = {0, 100, 200, 50};
static const double bin_tokens[BINS] = {NONE, 1, 0.75, 0.5}, bin_loss[BINS] = {NONE, 0.1, 0.5, 1};

static const ResultByPosition by_position[] = {
    {.length = 16, .bins = BINS, bin, bin_tokens, bin_loss, bin_count}};
static const ResultByDistance by_distance[] = {
    {.length = 16, .bins = BINS, bin, bin_tokens, bin_count}};

static double table[POSITIONS * CHANNELS], snapshots[SNAPSHOTS * POSITIONS * CHANNELS],
    bias[HEADS * DISTANCES], frequency[CHANNELS / 2];
static int64_t update_count[POSITIONS], snapshot_step[SNAPSHOTS] = {0, 30};
static real embedding[8 * CHANNELS], output[CHANNELS];

static void fill(void) {
    for (size_t i = 0; i < POSITIONS * CHANNELS; i++) {
        table[i] = sin(0.1 * (double)(i / CHANNELS) * (double)(i % CHANNELS + 1));
        snapshots[i] = 0.5 * table[i];
        snapshots[POSITIONS * CHANNELS + i] = table[i];
    }
    for (size_t i = 0; i < HEADS * DISTANCES; i++)
        bias[i] = -(double)(i % DISTANCES) / (i < DISTANCES ? 4 : 16);
    for (size_t i = 0; i < CHANNELS / 2; i++) frequency[i] = pow(10000, -(double)i / 16);
    for (size_t i = 0; i < POSITIONS; i++) update_count[i] = i < 32 ? 30 : 0;
    for (size_t i = 0; i < 8 * CHANNELS; i++) embedding[i] = (real)i / 7;
    for (size_t i = 0; i < CHANNELS; i++) output[i] = (real)i / 3;
}

ResultFile small_result(void) {
    static const ResultTable tables[] = {
        {.table = {.name = "table",
                   .rank = 2,
                   .dims = {POSITIONS, CHANNELS},
                   .axes = {"position", "channel"},
                   .values = table,
                   .kind = "learned",
                   .convention = "added to the embedding",
                   .unit = ""},
         .update_count = update_count,
         .snapshots = snapshots},
        {.table = {.name = "bias_by_distance",
                   .rank = 2,
                   .dims = {HEADS, DISTANCES},
                   .axes = {"head", "distance"},
                   .values = bias,
                   .kind = "fixed",
                   .convention = "added to the scores",
                   .unit = ""}},
        {.table = {.name = "frequency",
                   .rank = 1,
                   .dims = {CHANNELS / 2},
                   .axes = {"channel"}, /* not the length of the first table's */
                   .values = frequency,
                   .kind = "fixed",
                   .convention = "half layout",
                   .unit = "rad/token"}}};
    static const ResultParameter arrays[] = {
        {"embedding", 2, {8, CHANNELS}, "token,channel", embedding},
        {"layer0/norm", 1, {CHANNELS}, "channel", output}};
    fill();
    return (ResultFile){.name = "small",
                        .encoding = "learned",
                        .task = "copy",
                        .run_id = "learned-s1-0123ab",
                        .config_sha256 = "0123ab",
                        .binary_sha256 = "45cd",
                        .harness_version = "0.1.0",
                        .git_commit = "unknown",
                        .git_dirty = true,
                        .created_utc = "2025-11-30T12:00:00Z",
                        .completed = true,
                        .exit_reason = "done",
                        .seed = -9007199254740993, /* more than a double can tell apart */
                        .trained_length = 32,
                        .parameter_count = 9 * CHANNELS,
                        .lua = "-- größe\nreturn {}\n",
                        .resolved_json = "{\"name\":\"small\"}",
                        .sources = "name  small  configs/small.lua:1\n",
                        .overrides = "seed=1\nmodel.width=8\n",
                        .cpu = "a cpu",
                        .isa = "x86-64-v3",
                        .openmp = "201511",
                        .blas = "none",
                        .compiler = "gcc 12.2",
                        .cflags = "-O3",
                        .lua_version = "Lua 5.4",
                        .os = "Linux",
                        .rng = RNG_VERSION,
                        .real_type = REAL_NAME,
                        .threads = 2,
                        .init_seed = 1,
                        .data_seed = 2,
                        .train = {ROWS, train_step, train_tokens, train_loss, train_accuracy,
                                  train_rate, train_norm, train_speed, train_seconds},
                        .evaluate = {.steps = STEPS,
                                     .lengths = LENGTHS,
                                     .step = step,
                                     .length = length,
                                     .loss = loss,
                                     .token_accuracy = tokens,
                                     .token_accuracy_low = low,
                                     .token_accuracy_high = high,
                                     .sequence_accuracy = sequences,
                                     .examples = examples,
                                     .baseline_random = chance,
                                     .baseline_majority = majority,
                                     .defined = defined,
                                     .reason = reason},
                        .by_position_count = 1,
                        .by_distance_count = 1,
                        .table_count = sizeof tables / sizeof *tables,
                        .array_count = sizeof arrays / sizeof *arrays,
                        .by_position = by_position,
                        .by_distance = by_distance,
                        .tables = tables,
                        .decay = {1, HEADS, DISTANCES, bias, bias},
                        .snapshot_count = SNAPSHOTS,
                        .snapshot_step = snapshot_step,
                        .arrays = arrays};
}

/* ---- a checkpoint ---------------------------------------------------------------------- */

static const CheckpointArray arrays_of_a_checkpoint[] = {
    {"parameters/embedding", STORE_REAL, 2, {8, CHANNELS}, NULL, false},
    {"parameters/layer0/norm", STORE_REAL, 1, {CHANNELS}, NULL, false},
    {"moment1/embedding", STORE_REAL, 2, {8, CHANNELS}, NULL, false},
    {"moment1/layer0/norm", STORE_REAL, 1, {CHANNELS}, NULL, false},
    {"moment2/embedding", STORE_REAL, 2, {8, CHANNELS}, NULL, false},
    {"moment2/layer0/norm", STORE_REAL, 1, {CHANNELS}, NULL, false},
    {"train/step", STORE_INT64, 1, {5}, NULL, true},
    {"train/loss", STORE_FLOAT64, 1, {5}, NULL, true},
    {"evaluate/loss", STORE_FLOAT64, 2, {0, LENGTHS}, NULL, true},
    {"update_count/table", STORE_INT64, 1, {POSITIONS}, NULL, false},
};
enum { ARRAYS = sizeof arrays_of_a_checkpoint / sizeof *arrays_of_a_checkpoint };

static size_t size_of(const CheckpointArray *array) {
    size_t size = array->type == STORE_FLOAT32 ? 4 : 8;
    for (int axis = 0; axis < array->rank; axis++) size *= array->dims[axis];
    return size;
}

Checkpoint small_checkpoint(void) {
    Checkpoint checkpoint = {.step = 20, .log_bytes = 4711, .count = ARRAYS};
    strcpy(checkpoint.config_sha256, "0123ab");
    strcpy(checkpoint.binary_sha256, "45cd");
    strcpy(checkpoint.cpu, "a cpu");
    strcpy(checkpoint.isa, "x86-64-v3");
    checkpoint.arrays = ALLOCATE(ARRAYS, CheckpointArray);
    for (size_t i = 0; i < ARRAYS; i++) {
        CheckpointArray *array = &checkpoint.arrays[i];
        *array = arrays_of_a_checkpoint[i];
        unsigned char *bytes = array->data = ALLOCATE(size_of(array), unsigned char);
        for (size_t b = 0; b < size_of(array); b++) bytes[b] = (unsigned char)(b * 7 + i);
    }
    return checkpoint;
}

void small_checkpoint_free(Checkpoint *checkpoint) {
    for (size_t i = 0; i < checkpoint->count; i++) free(checkpoint->arrays[i].data);
    free(checkpoint->arrays);
}
