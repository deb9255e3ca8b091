/* layout: the groups of run.h5 as tables, for the writer (result.c) and the check (verify.c). */
#ifndef SRC_STORE_LAYOUT_H
#define SRC_STORE_LAYOUT_H

#include "src/store/result.h"

enum { LAYOUT_RANK = 2 };

/* One dataset of a group. A column named like its own axis is the dimension scale of that axis. */
typedef struct {
    const char *name; /* NULL ends a table */
    StoreType type;
    const char *axes[LAYOUT_RANK]; /* the scales of the same group */
    size_t data;                   /* offset of the pointer in the struct of the group */
    size_t count;                  /* scales: offset of the number of elements, a size_t */
    const char *unit, *meaning;    /* attributes units (NULL: none) and long_name */
} LayoutColumn;

typedef struct {
    const LayoutColumn *columns;
    const char *signal;      /* what viewers plot first */
    const char *grows_along; /* the scale along which rows may be added; NULL: none */
} LayoutGroup;

/* /evaluate/final: the last row of the grids. */
typedef struct {
    size_t lengths;
    const int64_t *length, *examples;
    const double *token_accuracy, *token_accuracy_low, *token_accuracy_high;
    const double *sequence_accuracy, *loss, *baseline_random, *baseline_majority;
    const uint8_t *defined;
} LayoutFinal;

extern const LayoutGroup layout_train, layout_evaluate, layout_final; /* of a ResultTrain, … */
extern const LayoutGroup layout_by_position, layout_by_distance;

/* The column of that name; the table has it. */
const LayoutColumn *layout_column(const LayoutGroup *group, const char *name);

/* Axes of a column. */
int layout_rank(const LayoutColumn *column);

/* Makes the group's default plot, for NeXus viewers. */
void result_write_plot(StoreWriter *writer, const char *path, const char *signal, int rank,
                       const char *const *axes);

/* Marks the axes of folder/name with the scales folder/<axis>. */
void result_attach(StoreWriter *writer, const char *folder, const char *name, int rank,
                   const char *const *axes);

/* The numbers 0, step, 2 step, … rounded down, as the scale folder/name. */
void result_write_places(StoreWriter *writer, const char *folder, const char *name, size_t count,
                         double step);

/* /position: tables, update counts, snapshots, similarity. */
void result_write_positions(StoreWriter *writer, const ResultFile *result);

/* One attribute; its value is a field of ResultFile. */
typedef enum { LAYOUT_TEXT, LAYOUT_INTEGER, LAYOUT_BOOLEAN } LayoutKind;
typedef struct {
    const char *name; /* NULL ends a table */
    LayoutKind kind;
    size_t offset;
} LayoutAttribute;

extern const LayoutAttribute layout_root[], layout_environment[];

#endif
