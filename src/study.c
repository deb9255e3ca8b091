#include "src/study.h"

#include <math.h>
#include <stdlib.h>

static void free_settings(int count, StudySetting *settings) {
    for (int i = 0; i < count; i++) {
        free(settings[i].key);
        free(settings[i].value);
    }
    free(settings);
}

void study_free(Study *study) {
    for (int c = 0; c < study->cell_count; c++) {
        StudyCell *cell = &study->cells[c];
        config_free(&cell->config);
        free(cell->undefined);
        free_settings(cell->setting_count, cell->settings);
        free(cell->text);
        free(cell->label);
    }
    for (int g = 0; g < study->group_count; g++) free(study->groups[g].label);
    free(study->cells);
    free(study->groups);
    free(study->claims);
    free(study->path);
    free(study->name);
    free(study->lua);
    *study = (Study){0};
}

Config study_take(Study *study, int cell) {
    Config config = study->cells[cell].config;
    study->cells[cell].config = (Config){0};
    config.lua = copy_text(study->lua);
    return config;
}

char *study_folder(const Study *study, int cell, const char *output) {
    const Config *config = &study->cells[cell].config;
    if (study->cells[cell].undefined) return NULL;
    return format_text("%s/%s/%s", output, config->name, config->id);
}

char *study_result(const Study *study, int cell, const char *output) {
    char *folder = study_folder(study, cell, output);
    char *path = folder ? format_text("%s/run.h5", folder) : NULL;
    free(folder);
    return path;
}

int study_rate_loss(const Study *study, int group, int rate, const double *losses, double *mean) {
    int count = 0;
    double sum = 0;
    for (int c = 0; c < study->cell_count; c++) {
        const StudyCell *cell = &study->cells[c];
        if (cell->group != group || cell->rate != rate || isnan(losses[c])) continue;
        sum += losses[c];
        count++;
    }
    *mean = sum / count;
    return count;
}

void study_choose_rates(Study *study, const double *losses) {
    for (int g = 0; g < study->group_count; g++) {
        int most_seeds = 0;
        double least_loss = 0;
        study->groups[g].rate = -1;
        for (int rate = 0; rate < study->rate_count; rate++) {
            double mean;
            const int seeds = study_rate_loss(study, g, rate, losses, &mean);
            if (seeds < most_seeds || !seeds) continue;
            if (seeds == most_seeds && !(mean < least_loss)) continue;
            most_seeds = seeds;
            least_loss = mean;
            study->groups[g].rate = rate;
        }
    }
}
