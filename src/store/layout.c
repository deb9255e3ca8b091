#include "src/store/layout.h"

#include <string.h>

#define SCALE(Struct, field, number, meaning)                                                      \
    {                                                                                              \
#field, STORE_INT64,                                                                       \
            {#field }, offsetof(Struct, field), offsetof(Struct, number), NULL, meaning            \
    }
#define COLUMN(Struct, field, type, unit, meaning, ...)                                            \
    { #field, type, {__VA_ARGS__ }, offsetof(Struct, field), 0, unit, meaning }

#define STEP      "optimizer steps done"
#define LENGTH    "tokens of a sequence"
#define LOSS      "mean cross-entropy of the scored tokens"
#define TOKENS    "share of the scored tokens that are right"
#define LOW       "lower end of its 95 % interval"
#define HIGH      "upper end of its 95 % interval"
#define SEQUENCES "share of the sequences whose scored tokens are all right"
#define EXAMPLES  "sequences evaluated"
#define DEFINED   "the model is defined at this length"
#define RANDOM    "token accuracy of a uniform guess among the possible answers"
#define MAJORITY  "token accuracy of always giving the most frequent answer"
#define COUNT     "scored tokens"

static const LayoutColumn train[] = {
    SCALE(ResultTrain, step, count, STEP),
    COLUMN(ResultTrain, tokens, STORE_INT64, NULL, "tokens read so far", "step"),
    COLUMN(ResultTrain, loss, STORE_FLOAT64, "nat", LOSS, "step"),
    COLUMN(ResultTrain, accuracy, STORE_FLOAT64, NULL, TOKENS, "step"),
    COLUMN(ResultTrain, learning_rate, STORE_FLOAT64, NULL, "learning rate", "step"),
    COLUMN(ResultTrain, gradient_norm, STORE_FLOAT64, NULL,
           "global norm of the gradient before clipping", "step"),
    COLUMN(ResultTrain, tokens_per_second, STORE_FLOAT64, "1/s",
           "tokens a second since the last row", "step"),
    COLUMN(ResultTrain, seconds, STORE_FLOAT64, "s", "time of training so far", "step"),
    {0}};
const LayoutGroup layout_train = {train, "loss", "step"};

static const LayoutColumn evaluate[] = {
    SCALE(ResultEvaluate, step, steps, STEP),
    SCALE(ResultEvaluate, length, lengths, LENGTH),
    COLUMN(ResultEvaluate, token_accuracy, STORE_FLOAT64, NULL, TOKENS, "step", "length"),
    COLUMN(ResultEvaluate, token_accuracy_low, STORE_FLOAT64, NULL, LOW, "step", "length"),
    COLUMN(ResultEvaluate, token_accuracy_high, STORE_FLOAT64, NULL, HIGH, "step", "length"),
    COLUMN(ResultEvaluate, sequence_accuracy, STORE_FLOAT64, NULL, SEQUENCES, "step", "length"),
    COLUMN(ResultEvaluate, loss, STORE_FLOAT64, "nat", LOSS, "step", "length"),
    COLUMN(ResultEvaluate, examples, STORE_INT64, NULL, EXAMPLES, "step", "length"),
    COLUMN(ResultEvaluate, baseline_random, STORE_FLOAT64, NULL, RANDOM, "length"),
    COLUMN(ResultEvaluate, baseline_majority, STORE_FLOAT64, NULL, MAJORITY, "length"),
    COLUMN(ResultEvaluate, defined, STORE_BOOLEAN, NULL, DEFINED, "length"),
    {0}};
const LayoutGroup layout_evaluate = {evaluate, "token_accuracy", "step"};

static const LayoutColumn final[] = {
    SCALE(LayoutFinal, length, lengths, LENGTH),
    COLUMN(LayoutFinal, token_accuracy, STORE_FLOAT64, NULL, TOKENS, "length"),
    COLUMN(LayoutFinal, token_accuracy_low, STORE_FLOAT64, NULL, LOW, "length"),
    COLUMN(LayoutFinal, token_accuracy_high, STORE_FLOAT64, NULL, HIGH, "length"),
    COLUMN(LayoutFinal, sequence_accuracy, STORE_FLOAT64, NULL, SEQUENCES, "length"),
    COLUMN(LayoutFinal, loss, STORE_FLOAT64, "nat", LOSS, "length"),
    COLUMN(LayoutFinal, examples, STORE_INT64, NULL, EXAMPLES, "length"),
    COLUMN(LayoutFinal, baseline_random, STORE_FLOAT64, NULL, RANDOM, "length"),
    COLUMN(LayoutFinal, baseline_majority, STORE_FLOAT64, NULL, MAJORITY, "length"),
    COLUMN(LayoutFinal, defined, STORE_BOOLEAN, NULL, DEFINED, "length"),
    {0}};
const LayoutGroup layout_final = {final, "token_accuracy", NULL};

static const LayoutColumn by_position[] = {
    SCALE(ResultByPosition, position, bins, "first position of the bin"),
    COLUMN(ResultByPosition, token_accuracy, STORE_FLOAT64, NULL, TOKENS, "position"),
    COLUMN(ResultByPosition, loss, STORE_FLOAT64, "nat", LOSS, "position"),
    COLUMN(ResultByPosition, count, STORE_INT64, NULL, COUNT, "position"),
    {0}};
const LayoutGroup layout_by_position = {by_position, "token_accuracy", NULL};

static const LayoutColumn by_distance[] = {
    SCALE(ResultByDistance, distance, bins, "smallest distance of the bin"),
    COLUMN(ResultByDistance, token_accuracy, STORE_FLOAT64, NULL, TOKENS, "distance"),
    COLUMN(ResultByDistance, count, STORE_INT64, NULL, COUNT, "distance"),
    {0}};
const LayoutGroup layout_by_distance = {by_distance, "token_accuracy", NULL};

const LayoutColumn *layout_column(const LayoutGroup *group, const char *name) {
    const LayoutColumn *column = group->columns;
    while (column->name && strcmp(column->name, name) != 0) column++;
    CHECK(column->name, "no column %s", name);
    return column;
}

int layout_rank(const LayoutColumn *column) {
    return column->axes[1] ? 2 : 1;
}

#define TEXT(field)                                                                                \
    { #field, LAYOUT_TEXT, offsetof(ResultFile, field) }
#define INTEGER(field)                                                                             \
    { #field, LAYOUT_INTEGER, offsetof(ResultFile, field) }
#define BOOLEAN(field)                                                                             \
    { #field, LAYOUT_BOOLEAN, offsetof(ResultFile, field) }

const LayoutAttribute layout_root[] = {TEXT(name),
                                       TEXT(encoding),
                                       TEXT(task),
                                       INTEGER(seed),
                                       TEXT(run_id),
                                       TEXT(config_sha256),
                                       BOOLEAN(completed),
                                       TEXT(exit_reason),
                                       INTEGER(trained_length),
                                       INTEGER(parameter_count),
                                       TEXT(harness_version),
                                       TEXT(git_commit),
                                       BOOLEAN(git_dirty),
                                       TEXT(binary_sha256),
                                       TEXT(created_utc),
                                       {0}};

const LayoutAttribute layout_environment[] = {
    TEXT(cpu),      TEXT(isa),          INTEGER(threads),   TEXT(openmp), TEXT(blas),
    TEXT(compiler), TEXT(cflags),       TEXT(real_type),    TEXT(rng),    TEXT(lua_version),
    TEXT(os),       INTEGER(init_seed), INTEGER(data_seed), {0}};
