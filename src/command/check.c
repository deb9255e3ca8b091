/* ./harness check: everything about a run that can be known before it starts. Writes nothing. */
#include "src/command/command.h"

#include "src/bench.h"
#include "src/environment.h"
#include "src/record.h"
#include "src/report/table.h"
#include "src/run.h"
#include "src/start.h"
#include "src/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A share of the peak that training reaches on most shapes: for an estimate, not a promise. */
static const double USUAL_SHARE = 0.5;

static void print_time(double flops) {
    const double peak = bench_peak(0.05);
    printf("about %.0f s at %.0f %% of this machine's %.*f GFLOP/s\n",
           flops / (USUAL_SHARE * peak * 1e9), 100 * USUAL_SHARE, peak < 10 ? 2 : 0, peak);
}

static void print_values(const Config *config, const Terminal *terminal) {
    Table *table = table_create();
    table_column(table, "key", TABLE_LEFT);
    table_column(table, "value", TABLE_LEFT);
    table_column(table, "from", TABLE_LEFT);
    const char *at = config->sources;
    while (*at) {
        const size_t length = strcspn(at, "\n");
        /* "key  value  source": two blanks separate the columns */
        const char *value = strstr(at, "  "), *end = at + length;
        const char *source = end;
        while (source > at + 1 && !(source[-1] == ' ' && source[-2] == ' ')) source--;
        table_cell(table, "%.*s", (int)(value - at), at);
        table_cell(table, "%.*s", (int)(source - value - 4), value + 2);
        table_cell(table, "%.*s", (int)(end - source), source);
        at = *end ? end + 1 : end;
    }
    table_print(table, stdout, terminal);
    table_free(table);
}

static void print_parameters(const Model *model, const Terminal *terminal) {
    size_t groups[3] = {0};
    int arrays[3] = {0};
    static const char *const names[] = {"matrices and embeddings", "norms and biases",
                                        "positional encoding"};
    for (int i = 0; i < model->parameter_count; i++) {
        const Parameter *p = &model->parameters[i];
        const int group = p->encoding_index >= 0 ? 2 : p->decay ? 0 : 1;
        groups[group] += p->count;
        arrays[group]++;
    }
    Table *table = table_create();
    table_column(table, "parameters", TABLE_LEFT);
    table_column(table, "arrays", TABLE_RIGHT);
    table_column(table, "numbers", TABLE_RIGHT);
    table_column(table, "weight decay", TABLE_LEFT);
    for (int g = 0; g < 3; g++) {
        table_cell(table, "%s", names[g]);
        table_cell(table, "%d", arrays[g]);
        table_cell(table, "%zu", groups[g]);
        table_cell(table, "%s", g ? "no" : "yes");
    }
    table_cell(table, "all");
    table_cell(table, "%d", model->parameter_count);
    table_cell(table, "%zu", model_parameter_total(model));
    table_cell(table, " ");
    table_print(table, stdout, terminal);
    table_free(table);
}

/* What the tables say about the trained length. */
static void print_table_facts(void *to, const PositionTable *table) {
    const double trained = (double)*(const size_t *)to;
    printf("  %s [", table->name);
    for (int axis = 0; axis < table->rank; axis++)
        printf("%s%s %zu", axis ? ", " : "", table->axes[axis], table->dims[axis]);
    printf("], %s", table->kind);
    if (!strcmp(table->name, "wavelength") && table->rank == 1) {
        size_t full = 0, quarter = 0;
        double longest = 0;
        for (size_t i = 0; i < table->dims[0]; i++) {
            if (isfinite(table->values[i])) longest = fmax(longest, table->values[i]);
            full += table->values[i] > trained;
            quarter += table->values[i] > 4 * trained;
        }
        printf(": the longest is %.0f tokens; of %zu pairs, %zu never make a full turn within the "
               "trained length of %.0f, %zu not a quarter",
               longest, table->dims[0], full, trained, quarter);
    }
    printf("\n");
}

static void print_positions(const Config *config, const Model *model) {
    const size_t trained = config_longest(config);
    printf("position: %s; trained up to length %zu\n", model->shape.encoding->name, trained);
    size_t longest = trained;
    model_tables(model, trained, print_table_facts, &longest);
    for (int i = 0; i < config->evaluate.lengths.count; i++) {
        const char *reason = model_defined(model, (size_t)config->evaluate.lengths.values[i]);
        if (reason)
            printf("  length %lld is not defined: %s\n",
                   (long long)config->evaluate.lengths.values[i], reason);
    }
}

static int too_large(const char *path, double bytes) {
    char needed[32], there[32];
    fflush(stdout);
    fprintf(stderr, "%s: needs %s (%.0f bytes) of memory, this machine has %s\n", path,
            bytes_text(bytes, needed), bytes, bytes_text(environment_memory(), there));
    return EXIT_USAGE;
}

/* All runs of a study, a line each; --index tells more of one. */
static int check_study(const Command *command, const Study *study) {
    const Terminal terminal = terminal_look(STDOUT_FILENO, command->color);
    const char *output = command->output ? command->output : "results";
    double flops = 0, bytes = 0;
    int defined = 0;
    Table *table = table_create();
    table_column(table, "run", TABLE_RIGHT);
    table_column(table, "values", TABLE_LEFT);
    table_column(table, "FLOP", TABLE_RIGHT);
    table_column(table, "result", TABLE_LEFT);
    for (int c = 0; c < study->cell_count; c++) {
        const StudyCell *cell = &study->cells[c];
        table_cell(table, "%d", c + 1);
        table_cell(table, "%s", cell->text);
        if (cell->undefined) {
            table_rest(table, "not defined: %s", cell->undefined);
            continue;
        }
        char *folder = study_folder(study, c, output);
        const double own = train_flops(&cell->config);
        table_cell(table, "%.3g", own);
        table_rest(table, "%s", folder);
        free(folder);
        flops += own;
        bytes = fmax(bytes, run_bytes(&cell->config, 1));
        defined++;
    }
    table_print(table, stdout, &terminal);
    table_free(table);
    char needed[32], there[32];
    printf("\nruns: %d, of which %d are defined\n", study->cell_count, defined);
    printf("training: %.3g FLOP in all; ", flops);
    print_time(flops);
    printf("memory: at most %s a run, of %s\n", bytes_text(bytes, needed),
           bytes_text(environment_memory(), there));
    if (bytes > environment_memory()) return too_large(study->path, bytes);
    if (study->claim_count) printf("claims: %d comparisons\n", study->claim_count);
    return EXIT_DONE;
}

int command_check(const Command *command) {
    Study study = command_study(command);
    if (!command->index && (study.cell_count > 1 || !study.sweep)) {
        const int code = check_study(command, &study);
        study_free(&study);
        return code;
    }
    Config config = command_take(command, &study);
    start_check(&config);
    const Environment environment = environment_look();
    const Terminal terminal = terminal_look(STDOUT_FILENO, command->color);
    print_values(&config, &terminal);

    char needed[32], there[32];
    const double bytes = run_bytes(&config, environment.threads);
    const double memory = environment_memory();
    printf("\nmemory: %s of %s\n", bytes_text(bytes, needed), bytes_text(memory, there));
    if (bytes > memory) return too_large(config.path, bytes);
    printf("disk: at most %s a checkpoint, of which two are kept\n",
           bytes_text(record_bytes(&config).file, needed));
    const ModelShape shape = train_shape(&config);
    Model *model = model_create(&shape, config.init_seed);
    const double flops = train_flops(&config);
    printf("training: %lld steps, %.3g FLOP; ", (long long)config.train.total_steps, flops);
    print_time(flops);
    printf("runs: 1\nresult: %s/%s/%s/run.h5\n\n", command->output ? command->output : "results",
           config.name, config.id);
    print_parameters(model, &terminal);
    putchar('\n');
    print_positions(&config, model);
    model_free(model);
    config_free(&config);
    return EXIT_DONE;
}
