/* study: many runs from one file (return study { ... }), or from one config and a sweep on the
   command line (seed=1..5). src/lua/study.c reads it, src/sweep.c runs it. docs/STUDIES.md is for
   users. */
#ifndef SRC_STUDY_H
#define SRC_STUDY_H

#include "src/claim.h"
#include "src/config.h"

enum { STUDY_CELLS = 4096, STUDY_AXES = 32, STUDY_CLAIMS = 1024 };

/* A value that a cell has of its own: "model.encoding", "rope fraction=0.25". */
typedef struct {
    char *key, *value;
} StudySetting;

/* One run of the study. */
typedef struct {
    Config config;   /* empty where the cell is not defined */
    char *undefined; /* why its values are impossible together; NULL: it can be run */
    int setting_count;
    StudySetting *settings; /* in the order of the axes, seed first */
    char *text;             /* all settings: "seed=1 model.encoding=rope" */
    char *label;            /* that the study gives to its entry of `list`; NULL: none */
    int point[STUDY_AXES];  /* the place of the cell on each axis, from 0 */
    int group;              /* index into groups */
    int rate;               /* index into rates; -1: the study has none */
} StudyCell;

/* Cells that differ only in their seed (and in their rate, of which one is taken): a line of the
   table, one side of a comparison. */
typedef struct {
    char *label; /* "rope fraction=0.25, copy"; "" when nothing but seeds and rates is varied */
    int rate;    /* the rate that was taken, set by study_choose_rates; -1: none */
} StudyGroup;

typedef struct {
    bool sweep; /* from the command line alone: the file is a plain config */
    char *path, *name;
    char *lua; /* texts of the file and its includes */
    int cell_count;
    StudyCell *cells;
    int group_count;
    StudyGroup *groups;
    int rate_count;
    double rates[OPTION_LIST_SIZE];
    int claim_count;
    Claim *claims;
} Study;

/* Frees what the study owns, taken configs excepted. */
void study_free(Study *study);

/* Moves the config of a cell that is defined out of the study: a whole one, as config_load gives
   it. */
Config study_take(Study *study, int cell);

/* OUTPUT/NAME/ID of a cell, and its run.h5; memory of the caller, NULL where it is not defined. */
char *study_folder(const Study *study, int cell, const char *output);
char *study_result(const Study *study, int cell, const char *output);

/* losses[cell]: of validation (in distribution), NaN where there is none. How many seeds of a group
   were measured at a rate, and their mean loss. */
int study_rate_loss(const Study *study, int group, int rate, const double *losses, double *mean);

/* Among the rates, the one with the most seeds measured, then with the least mean loss, for every
   group. */
void study_choose_rates(Study *study, const double *losses);

#endif
