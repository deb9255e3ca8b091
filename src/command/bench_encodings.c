/* ./harness bench --encodings: what a training step of each encoding costs over one without
   positions, on one shape. Both models stand in memory and take steps in turns, so that a drift of
   the machine touches both; the ratio is the median over the pairs of steps. */
#include "src/command/command.h"

#include "src/bench.h"
#include "src/json.h"
#include "src/lua/config.h"
#include "src/report/table.h"
#include "src/train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_STEPS = 2, LEAST_PAIRS = 7, MOST_PAIRS = 200 };
static const double LEAST_SECONDS = 4; /* of timed pairs */

typedef struct {
    double ratio, low, high;  /* median and quartiles of step / step of nope */
    double tokens_per_second; /* at the median step */
} Cost;

static double step_seconds(Trainer *trainer) {
    const double start = seconds_now();
    const char *broken = train_step(trainer);
    if (broken) die(EXIT_FAILED, "%s", broken);
    return seconds_now() - start;
}

typedef struct {
    double plain, other;
} Pair;

/* The same step of both, so that their batches have one shape: plain has stepped beside others
   before. */
static Pair pair_seconds(Trainer *plain, Trainer *other) {
    plain->step = other->step;
    const double seconds = step_seconds(plain);
    return (Pair){seconds, step_seconds(other)};
}

static Cost cost_over(Trainer *plain, Trainer *other) {
    double ratios[MOST_PAIRS], seconds[MOST_PAIRS], total = 0;
    size_t count = 0;
    for (int step = 0; step < WARM_STEPS; step++) pair_seconds(plain, other);
    const int64_t before = other->tokens;
    while (count < MOST_PAIRS && (count < LEAST_PAIRS || total < LEAST_SECONDS)) {
        const Pair pair = pair_seconds(plain, other);
        seconds[count] = pair.other;
        ratios[count++] = pair.other / pair.plain;
        total += pair.plain + pair.other;
    }
    const double tokens = (double)(other->tokens - before) / (double)count;
    qsort(ratios, count, sizeof *ratios, compare_numbers);
    qsort(seconds, count, sizeof *seconds, compare_numbers);
    return (Cost){ratios[count / 2], ratios[count / 4], ratios[count - 1 - count / 4],
                  tokens / seconds[count / 2]};
}

/* The config with that encoding in place of its own; false with the first mistake's sentence. */
static bool load(const Command *command, const char *path, const char *encoding, Config *config,
                 char reason[256]) {
    const char *overrides[COMMAND_WORDS + 1] = {encoding};
    memcpy(overrides + 1, command->overrides, (size_t)command->override_count * sizeof *overrides);
    Mistakes mistakes;
    if (config_load(path, command->override_count + 1, overrides, config, &mistakes)) return true;
    snprintf(reason, 256, "%.*s", (int)strcspn(mistakes.text, "\n"), mistakes.text);
    free(mistakes.text);
    return false;
}

static void print_json(const char *path, const char *name, const Cost *cost) {
    Json json = {0};
    json_open(&json, '{');
    json_key(&json, "config"), json_text(&json, path);
    json_key(&json, "encoding"), json_text(&json, name);
    json_key(&json, "step_over_nope"), json_number(&json, cost->ratio);
    json_key(&json, "lower_quartile"), json_number(&json, cost->low);
    json_key(&json, "upper_quartile"), json_number(&json, cost->high);
    json_key(&json, "tokens_per_second"), json_number(&json, cost->tokens_per_second);
    json_close(&json, '}');
    printf("%s\n", json.text);
    json_free(&json);
}

int command_bench_encodings(const Command *command, const Terminal *terminal) {
    if (command->word_count > 1) command_usage("bench --encodings: at most one config");
    const char *path = command->word_count ? command->words[0] : "bench/rope_2k.lua";
    char reason[256];
    Config plain;
    if (!load(command, path, "model.encoding=nope", &plain, reason)) {
        fprintf(stderr, "%s\n", reason);
        return EXIT_USAGE;
    }
    Trainer *reference = train_create(&plain);
    Table *table = table_create();
    table_column(table, "encoding", TABLE_LEFT);
    static const char *const titles[] = {"step / nope", "quartiles", "tokens/s"};
    for (int i = 0; i < 3; i++) table_column(table, titles[i], TABLE_RIGHT);
    for (size_t e = 0; e < encoding_count; e++) {
        char choice[96];
        snprintf(choice, sizeof choice, "model.encoding=%s", encodings[e]->name);
        Config config;
        if (!load(command, path, choice, &config, reason)) {
            if (!command->json) {
                table_cell(table, "%s", encodings[e]->name);
                table_rest(table, "not measured: %s", reason);
            }
            continue;
        }
        Trainer *trainer = train_create(&config);
        const Cost cost = cost_over(reference, trainer);
        train_free(trainer);
        config_free(&config);
        if (command->json) {
            print_json(path, encodings[e]->name, &cost);
            continue;
        }
        fprintf(stderr, "%s %.3f\n", encodings[e]->name, cost.ratio);
        table_cell(table, "%s", encodings[e]->name);
        table_cell(table, "%.3f", cost.ratio);
        table_cell(table, "%.3f .. %.3f", cost.low, cost.high);
        table_cell(table, "%.0f", cost.tokens_per_second);
    }
    if (!command->json) table_print(table, stdout, terminal);
    table_free(table);
    train_free(reference);
    config_free(&plain);
    return EXIT_DONE;
}
