/* ./harness bench: training steps of a config against the peak of this machine, measured in the
   same run. The step is the one that training does: data, forward, backward, clipping, AdamW.
   --plan: how the work of a step is divided. */
#include "src/command/command.h"

#include "src/bench.h"
#include "src/environment.h"
#include "src/evaluate.h"
#include "src/json.h"
#include "src/lua/config.h"
#include "src/report/table.h"
#include "src/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WARM_STEPS = 2, TIMED_STEPS = 5, TIMED_PASSES = 3 };
static const double LEAST_SECONDS = 1.5; /* of timed steps or passes */
enum { MOST_STEPS = 400 };

static const char *const usual[] = {"bench/rope_2k.lua", "bench/d256_t512.lua",
                                    "bench/d128_t256.lua", "bench/d64_t128.lua"};

/* Medians; share: of the peak; resident: bytes. */
typedef struct {
    double tokens_per_second, gflops, share, resident;
} Speed;

typedef struct {
    Speed training;
    double phases[PHASES], other; /* shares of the threads' time */
    double optimizer, data;
    size_t length; /* of evaluation, the greatest that the config has */
    Speed evaluation;
} Measure;

static double resident_bytes(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fscanf(file, "%*s %ld", &pages) != 1) pages = 0;
    if (file) fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static Speed speed_of(double *seconds, int count, double tokens, double flops, double peak) {
    qsort(seconds, (size_t)count, sizeof *seconds, compare_numbers);
    const double median = seconds[count / 2], gflops = flops / median / 1e9;
    return (Speed){tokens / median, gflops, gflops / peak, resident_bytes()};
}

static void measure_training(Trainer *t, int threads, double peak, Measure *m) {
    double seconds[MOST_STEPS], total = 0, flops = 0, tokens = 0;
    int count = 0;
    for (int step = 0; step < WARM_STEPS; step++) train_step(t);
    engine_phases(t->engine, m->phases, true);
    const TrainTimes before = t->times;
    while (count < MOST_STEPS && (count < TIMED_STEPS || total < LEAST_SECONDS)) {
        const double flops_before = t->flops, start = seconds_now();
        const int64_t tokens_before = t->tokens;
        const char *broken = train_step(t);
        if (broken) die(EXIT_FAILED, "%s", broken);
        seconds[count] = seconds_now() - start;
        total += seconds[count++];
        flops = t->flops - flops_before;
        tokens = (double)(t->tokens - tokens_before);
    }
    engine_phases(t->engine, m->phases, false);
    m->training = speed_of(seconds, count, tokens, flops, peak);
    m->optimizer = (t->times.optimizer - before.optimizer) / total;
    m->data = (t->times.data - before.data) / total;
    m->other = 1 - m->optimizer - m->data;
    for (int phase = 0; phase < PHASES; phase++) {
        m->phases[phase] /= total * threads;
        m->other -= m->phases[phase];
    }
}

/* One pass of evaluation at a time, with its data and what is counted of it. */
static void measure_evaluation(const Config *config, Trainer *t, double peak, Measure *m) {
    Config once = *config;
    for (int i = 0; i < config->evaluate.lengths.count; i++)
        m->length = most(m->length, (size_t)config->evaluate.lengths.values[i]);
    const size_t items = evaluate_items(m->length, config->evaluate.examples);
    once.evaluate.examples = (int64_t)items;
    double seconds[MOST_STEPS], total = 0;
    int count = 0;
    for (int pass = -1; count < MOST_STEPS && (count < TIMED_PASSES || total < LEAST_SECONDS);
         pass++) {
        Evaluation evaluation;
        const double start = seconds_now();
        const char *broken = evaluate(&once, t->model, t->engine, m->length, &evaluation);
        if (broken) die(EXIT_FAILED, "%s", broken);
        if (*evaluation.undefined) return; /* no speed */
        if (pass < 0) continue; /* to warm up */
        seconds[count] = seconds_now() - start;
        total += seconds[count++];
    }
    /* forward is a third of a step's useful products */
    const double flops = model_step_flops(&t->model->shape, items, m->length) / 3;
    m->evaluation = speed_of(seconds, count, (double)(items * m->length), flops, peak);
}

static Measure measure(const Config *config, int threads, double peak) {
    Measure m = {0};
    Trainer *t = train_create(config);
    measure_training(t, threads, peak, &m);
    measure_evaluation(config, t, peak, &m);
    train_free(t);
    return m;
}

static void json_speed(Json *json, const Speed *speed) {
    json_key(json, "tokens_per_second"), json_number(json, speed->tokens_per_second);
    json_key(json, "gflops"), json_number(json, speed->gflops);
    json_key(json, "peak_fraction"), json_number(json, speed->share);
    json_key(json, "resident_bytes"), json_number(json, speed->resident);
}

static void print_json(const char *path, const Measure *m, double peak) {
    Json json = {0};
    json_open(&json, '{');
    json_key(&json, "config"), json_text(&json, path);
    json_key(&json, "peak_gflops"), json_number(&json, peak);
    json_speed(&json, &m->training);
    json_key(&json, "phases"), json_open(&json, '{');
    for (int phase = 0; phase < PHASES; phase++)
        json_key(&json, phase_names[phase]), json_number(&json, m->phases[phase]);
    json_key(&json, "optimizer"), json_number(&json, m->optimizer);
    json_key(&json, "data"), json_number(&json, m->data);
    json_key(&json, "waiting and other"), json_number(&json, m->other);
    json_close(&json, '}');
    json_key(&json, "evaluation"), json_open(&json, '{');
    json_key(&json, "length"), json_number(&json, (double)m->length);
    json_speed(&json, &m->evaluation);
    json_close(&json, '}');
    json_close(&json, '}');
    printf("%s\n", json.text);
    json_free(&json);
}

/* The share of one phase for every config: a row. */
static void phase_row(Table *table, const char *name, size_t count, const double *shares) {
    table_cell(table, "%s", name);
    for (size_t i = 0; i < count; i++) table_cell(table, "%.1f", 100 * shares[i]);
}

static void speed_cells(Table *table, const Speed *speed) {
    char text[32];
    table_cell(table, "%.0f", speed->tokens_per_second);
    table_cell(table, "%.1f", speed->gflops);
    table_cell(table, "%.1f", 100 * speed->share);
    table_cell(table, "%s", bytes_text(speed->resident, text));
}

static void print_tables(size_t count, const char *const *paths, const Measure *measures,
                         const Terminal *terminal) {
    Table *table = table_create();
    table_column(table, "config", TABLE_LEFT);
    static const char *const titles[] = {"tokens/s", "GFLOP/s", "% of peak", "memory"};
    for (int i = 0; i < 4; i++) table_column(table, titles[i], TABLE_RIGHT);
    for (size_t i = 0; i < count; i++) {
        table_cell(table, "%s", paths[i]);
        speed_cells(table, &measures[i].training);
        if (!(measures[i].evaluation.share > 0)) continue;
        table_cell(table, "  evaluation at %zu", measures[i].length);
        speed_cells(table, &measures[i].evaluation);
    }
    table_print(table, stdout, terminal);
    table_free(table);

    printf("\nshare of the threads' time, %%\n");
    table = table_create();
    table_column(table, "phase", TABLE_LEFT);
    for (size_t i = 0; i < count; i++) {
        const char *slash = strrchr(paths[i], '/');
        table_column(table, slash ? slash + 1 : paths[i], TABLE_RIGHT);
    }
    double shares[TABLE_COLUMNS];
    for (int phase = 0; phase < PHASES; phase++) {
        for (size_t i = 0; i < count; i++) shares[i] = measures[i].phases[phase];
        phase_row(table, phase_names[phase], count, shares);
    }
    for (size_t i = 0; i < count; i++) shares[i] = measures[i].optimizer;
    phase_row(table, "optimizer", count, shares);
    for (size_t i = 0; i < count; i++) shares[i] = measures[i].data;
    phase_row(table, "data", count, shares);
    for (size_t i = 0; i < count; i++) shares[i] = measures[i].other;
    phase_row(table, "waiting and other", count, shares);
    table_print(table, stdout, terminal);
    table_free(table);
}

/* How one step of training is divided: its loops over threads. */
static void print_plan(const char *path, const Config *config, const Command *command,
                       const Terminal *terminal) {
    Trainer *trainer = train_create(config);
    const char *broken = train_step(trainer);
    if (broken) die(EXIT_FAILED, "%s", broken);
    EngineLoop loops[ENGINE_LOOPS + 1];
    size_t count = engine_loops(trainer->engine, loops, true);
    loops[count++] = (EngineLoop){"blocks of parameters, optimizer",
                                  optim_blocks(trainer->model->count), 1};
    Table *table = table_create();
    table_column(table, "loop over threads", TABLE_LEFT);
    table_column(table, "tasks", TABLE_RIGHT);
    table_column(table, "times", TABLE_RIGHT);
    for (size_t i = 0; i < count; i++) {
        table_cell(table, "%s", loops[i].work);
        table_cell(table, "%zu", loops[i].tasks);
        table_cell(table, "%zu", loops[i].times);
        if (!command->json) continue;
        Json json = {0};
        json_open(&json, '{');
        json_key(&json, "config"), json_text(&json, path);
        json_key(&json, "loop"), json_text(&json, loops[i].work);
        json_key(&json, "tasks"), json_number(&json, (double)loops[i].tasks);
        json_key(&json, "times"), json_number(&json, (double)loops[i].times);
        json_close(&json, '}');
        printf("%s\n", json.text);
        json_free(&json);
    }
    if (!command->json) {
        printf("%s: a step of %lld tokens\n", path, (long long)trainer->tokens);
        table_print(table, stdout, terminal);
        putchar('\n');
    }
    table_free(table);
    train_free(trainer);
}

int command_bench(const Command *command) {
    const char *const *paths = command->word_count ? command->words : usual;
    const size_t count =
        command->word_count ? (size_t)command->word_count : sizeof usual / sizeof *usual;
    if (count >= TABLE_COLUMNS) command_usage("bench: at most %d configs", TABLE_COLUMNS - 1);
    const Environment environment = environment_look();
    const Terminal terminal = terminal_look(STDOUT_FILENO, command->color);
    if (command->encodings) return command_bench_encodings(command, &terminal);
    const double loop = command->plan ? 0 : bench_peak(0.5);
    const double product = command->plan ? 0 : bench_product_peak(0.5);
    const double peak = fmax(loop, product);
    if (!command->json && !command->plan)
        printf("%s, %d threads of %d cores\n%s, %s\npeak: %.1f GFLOP/s (multiply-add in registers "
               "%.1f, product of 2048 x 2048 %.1f), %.2f GHz by the time stamp counter\n\n",
               environment.cpu, environment.threads, environment_cores(), environment.isa,
               environment.blas, peak, loop, product, bench_counter_ghz());
    if (!strcmp(environment.blas, "plain loops"))
        warn("built without LIBXSMM and oneDNN: products are several times slower");
    Measure measures[TABLE_COLUMNS];
    for (size_t i = 0; i < count; i++) {
        Config config;
        Mistakes mistakes;
        if (!config_load(paths[i], command->override_count, command->overrides, &config,
                         &mistakes)) {
            fputs(mistakes.text, stderr);
            return EXIT_USAGE;
        }
        if (command->plan) print_plan(paths[i], &config, command, &terminal);
        else measures[i] = measure(&config, environment.threads, peak);
        if (command->json && !command->plan) print_json(paths[i], &measures[i], peak);
        config_free(&config);
    }
    if (!command->json && !command->plan) print_tables(count, paths, measures, &terminal);
    return EXIT_DONE;
}
