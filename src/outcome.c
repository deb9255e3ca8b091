#include "src/outcome.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/store/guard.h"
#include "src/store/result.h"
#include "src/store/store.h"
#include "src/utf8.h"

/* ---- in the child: the file as lines of plain text ------------------------------------- */

/* A field: one line. */
static void print_line(FILE *to, char *text) {
    fprintf(to, "%s\n", utf8_clean(text, false));
    free(text);
}

static bool print_texts(StoreReader *reader, FILE *to) {
    static const char *const names[] = {"name",          "task",        "encoding",      "run_id",
                                        "config_sha256", "exit_reason", "binary_sha256", "cpu"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *at = strcmp(names[i], "cpu") ? "/" : "/environment";
        char *text = store_read_attribute_text(reader, at, names[i]);
        if (!text) return false;
        print_line(to, text);
    }
    return true;
}

static bool print_numbers(StoreReader *reader, FILE *to) {
    bool completed;
    int64_t seed, init_seed, data_seed, trained, moves;
    if (!store_read_attribute_boolean(reader, "/", "completed", &completed) ||
        !store_read_attribute_integer(reader, "/", "seed", &seed) ||
        !store_read_attribute_integer(reader, "/environment", "init_seed", &init_seed) ||
        !store_read_attribute_integer(reader, "/environment", "data_seed", &data_seed) ||
        !store_read_attribute_integer(reader, "/", "trained_length", &trained))
        return false;
    /* Files before have none. */
    if (!store_read_attribute_integer(reader, "/", "moves", &moves)) moves = 0;
    fprintf(to, "%d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", completed, seed,
            init_seed, data_seed, trained, moves);
    return true;
}

static bool print_lengths(StoreReader *reader, FILE *to) {
    ResultRows rows;
    bool good = result_read_rows(reader, &rows);
    if (good) fprintf(to, "%zu\n", rows.count);
    for (size_t i = 0; i < rows.count && good; i++) {
        fprintf(to, "%.0f %.0f %d %a %a %a %a %a\n", rows.length[i], rows.examples[i],
                rows.defined[i] != 0, rows.sequence_accuracy[i], rows.token_accuracy[i],
                rows.loss[i], rows.token_accuracy_low[i], rows.token_accuracy_high[i]);
        print_line(to, copy_text(rows.reason[i]));
    }
    result_free_rows(&rows);
    return good;
}

static bool print_keys(StoreReader *reader, FILE *to, char **wrong) {
    char *json = store_read_text(reader, "/config/resolved_json");
    if (!json) return false;
    FlatKeys keys;
    char *reason = flatten(json, &keys);
    free(json);
    if (reason)
        *wrong = format_text("/config/resolved_json: %s", reason);
    else
        fprintf(to, "%zu\n", keys.count);
    for (size_t i = 0; i < keys.count && !reason; i++) {
        print_line(to, copy_text(keys.list[i].key));
        print_line(to, copy_text(keys.list[i].value));
    }
    flatten_free(&keys);
    free(reason);
    return !*wrong;
}

static bool read_body(const void *path, FILE *to) {
    const char *reason;
    StoreReader *reader = store_open(path, &reason);
    if (!reader) {
        fputs(reason, to);
        return false;
    }
    /* Kept back until all is read: a refusal is one sentence alone. */
    char *text, *wrong = NULL;
    size_t size;
    FILE *memory = memory_open(&text, &size);
    char *format = store_read_attribute_text(reader, "/", "format");
    bool result = format && !strcmp(format, STORE_RUN_FORMAT);
    if (format && !result) wrong = format_text("is a %s file and not a result", format);
    bool good = result && store_known_version(reader) && print_texts(reader, memory) &&
                print_numbers(reader, memory) && print_lengths(reader, memory) &&
                print_keys(reader, memory, &wrong);
    memory_close(memory);
    fputs(good ? text : wrong ? wrong : store_reason(reader), to);
    free(wrong);
    free(format);
    free(text);
    store_close(reader);
    return good;
}

/* ---- in the parent --------------------------------------------------------------------- */

static char *next_line(char **rest) {
    char *line = *rest ? strsep(rest, "\n") : NULL;
    return copy_text(line ? line : "");
}

/* The count of what follows, at most as many as there are bytes left. */
static size_t next_count(char **rest) {
    char *line = next_line(rest);
    size_t count = strtoull(line, NULL, 10);
    free(line);
    return least(count, *rest ? strlen(*rest) : 0);
}

static OutcomeLength next_length(char **rest) {
    OutcomeLength row = {0};
    double *m = row.metric;
    Interval *tokens = &row.interval[METRIC_TOKEN_ACCURACY];
    int defined = 0;
    char *line = next_line(rest), *reason = next_line(rest);
    sscanf(line, "%" SCNd64 " %" SCNd64 " %d %la %la %la %la %la", &row.length, &row.examples,
           &defined, &m[METRIC_SEQUENCE_ACCURACY], &m[METRIC_TOKEN_ACCURACY], &m[METRIC_LOSS],
           &tokens->low, &tokens->high);
    free(line);
    double right = m[METRIC_SEQUENCE_ACCURACY] * (double)row.examples;
    row.interval[METRIC_SEQUENCE_ACCURACY] =
        interval_share(isnan(right) ? 0 : llround(right), isnan(right) ? 0 : row.examples, 0.95);
    row.interval[METRIC_LOSS] = (Interval){(double)NAN, (double)NAN};
    if (!defined)
        row.undefined = reason;
    else
        free(reason);
    return row;
}

static int compare_lengths(const void *a, const void *b) {
    int64_t x = ((const OutcomeLength *)a)->length, y = ((const OutcomeLength *)b)->length;
    return (x > y) - (x < y);
}

/* The least number in train.length or in train.stages.N.length: "16", "8,16" or "8..16". */
static int64_t shortest_length(const Outcome *outcome) {
    int64_t shortest = outcome->trained_length;
    for (size_t i = 0; i < outcome->keys.count; i++) {
        const char *key = outcome->keys.list[i].key, *value = outcome->keys.list[i].value;
        const char *last = strrchr(key, '.');
        if (strncmp(key, "train.", 6) || strcmp(last, ".length")) continue;
        while (*value) {
            char *end;
            int64_t number = strtoll(value, &end, 10);
            if (end > value && number > 0 && number < shortest) shortest = number;
            value = end > value ? end : value + 1;
        }
    }
    return shortest;
}

static void parse(char *text, Outcome *outcome) {
    char *rest = text;
    char **const texts[] = {&outcome->name,          &outcome->task,
                            &outcome->encoding,      &outcome->run_id,
                            &outcome->config_sha256, &outcome->exit_reason,
                            &outcome->binary_sha256, &outcome->cpu};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) *texts[i] = next_line(&rest);
    int completed = 0;
    char *numbers = next_line(&rest);
    sscanf(numbers, "%d %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &completed,
           &outcome->seed, &outcome->init_seed, &outcome->data_seed, &outcome->trained_length,
           &outcome->moves);
    free(numbers);
    outcome->completed = completed;
    outcome->length_count = next_count(&rest);
    outcome->lengths = ALLOCATE(most(outcome->length_count, 1), OutcomeLength);
    for (size_t i = 0; i < outcome->length_count; i++) outcome->lengths[i] = next_length(&rest);
    qsort(outcome->lengths, outcome->length_count, sizeof *outcome->lengths, compare_lengths);
    outcome->keys.count = outcome->keys.room = next_count(&rest);
    outcome->keys.list = ALLOCATE(most(outcome->keys.count, 1), FlatKey);
    for (size_t i = 0; i < outcome->keys.count; i++) {
        outcome->keys.list[i].key = next_line(&rest);
        outcome->keys.list[i].value = next_line(&rest);
    }
    outcome->shortest_length = shortest_length(outcome);
}

char *outcome_read(const char *path, Outcome *outcome) {
    *outcome = (Outcome){0};
    char *text;
    if (!guard_run(read_body, path, &text)) return text;
    outcome->path = utf8_clean(copy_text(path), false);
    parse(text, outcome);
    free(text);
    return NULL;
}

void outcome_free(Outcome *outcome) {
    free(outcome->path);
    free(outcome->name);
    free(outcome->task);
    free(outcome->encoding);
    free(outcome->run_id);
    free(outcome->config_sha256);
    free(outcome->exit_reason);
    free(outcome->binary_sha256);
    free(outcome->cpu);
    free(outcome->label);
    for (size_t i = 0; i < outcome->length_count; i++) free(outcome->lengths[i].undefined);
    free(outcome->lengths);
    flatten_free(&outcome->keys);
    *outcome = (Outcome){0};
}

const OutcomeLength *outcome_at(const Outcome *outcome, int64_t length) {
    for (size_t i = 0; i < outcome->length_count; i++)
        if (outcome->lengths[i].length == length) return &outcome->lengths[i];
    return NULL;
}
