#include "src/sweep_report.h"

#include "src/json.h"
#include "src/report/table.h"
#include "src/store/store.h"
#include "src/study_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The loss of a complete run in distribution; NaN: there is none. */
static double validation_loss(const Study *study, int cell, const char *output) {
    double loss = (double)NAN;
    char *path = study_result(study, cell, output);
    const char *reason;
    StoreReader *reader = path ? store_open(path, &reason) : NULL;
    free(path);
    if (!reader) return loss;
    store_read_attribute_number(reader, "/validate", "loss", &loss);
    store_close(reader);
    return loss;
}

/* ---- learning rates ------------------------------------------------------------------------ */

static void print_rates(const Study *study, const double *losses, const Terminal *terminal) {
    Table *table = table_create();
    table_column(table, "learning rate", TABLE_LEFT);
    table_column(table, "taken", TABLE_RIGHT);
    table_column(table, "mean validation loss, seeds", TABLE_LEFT);
    for (int g = 0; g < study->group_count; g++) {
        const StudyGroup *group = &study->groups[g];
        char number[32], *all = copy_text("");
        for (int rate = 0; rate < study->rate_count; rate++) {
            double mean;
            const int seeds = study_rate_loss(study, g, rate, losses, &mean);
            char *longer = format_text("%s%s%s: ", all, rate ? ",  " : "",
                                       json_number_text(study->rates[rate], number));
            char *more = seeds ? format_text("%s%.4g (%d)", longer, mean, seeds)
                               : format_text("%snone", longer);
            free(all);
            free(longer);
            all = more;
        }
        table_cell(table, "%s", *group->label ? group->label : study->name);
        table_cell(table, "%s",
                   group->rate < 0 ? "-" : json_number_text(study->rates[group->rate], number));
        table_rest(table, "%s", all);
        free(all);
    }
    table_print(table, stdout, terminal);
    putchar('\n');
    table_free(table);
}

static void choose_rates(Study *study, const char *output, const Terminal *terminal) {
    double *losses = ALLOCATE((size_t)study->cell_count, double);
    for (int c = 0; c < study->cell_count; c++) losses[c] = validation_loss(study, c, output);
    study_choose_rates(study, losses);
    print_rates(study, losses, terminal);
    free(losses);
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void print_undefined(const Study *study) {
    int count = 0;
    for (int c = 0; c < study->cell_count; c++) {
        const StudyCell *cell = &study->cells[c];
        if (!cell->undefined) continue;
        if (!count++) printf("\nnot defined\n");
        printf("    %s: %s\n", cell->text, cell->undefined);
    }
}

int sweep_report(Study *study, const char *output, ColorChoice color) {
    const Terminal terminal = terminal_look(STDOUT_FILENO, color);
    if (study->rate_count) choose_rates(study, output, &terminal);
    char **paths = ALLOCATE((size_t)study->cell_count, char *);
    const char **labels = ALLOCATE((size_t)study->cell_count, const char *);
    char *folder = format_text("%s/%s", output, study->name);
    StudyReport report = {.name = study->name,
                          .folder = folder,
                          .claim_count = (size_t)study->claim_count,
                          .claims = study->claims};
    for (int c = 0; c < study->cell_count; c++) {
        const StudyCell *cell = &study->cells[c];
        const int taken = study->groups[cell->group].rate;
        if (cell->undefined || (study->rate_count && taken >= 0 && cell->rate != taken)) continue;
        labels[report.run_count] = cell->label;
        paths[report.run_count++] = study_result(study, c, output);
    }
    report.runs = (const char *const *)paths;
    report.labels = labels;
    const int code = study_report(&report, stdout, &terminal);
    print_undefined(study);
    for (size_t i = 0; i < report.run_count; i++) free(paths[i]);
    free(paths);
    free(labels);
    free(folder);
    return code;
}
