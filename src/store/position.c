/* position: the group /position of run.h5, the tables that carry position. */
#include "src/store/layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIMILARITY_ROWS = 512 }; /* most rows of a similarity matrix: 1 MiB */

/* ---- axes ------------------------------------------------------------------------------ */

void result_write_places(StoreWriter *writer, const char *folder, const char *name, size_t count,
                         double step) {
    int64_t *places = ALLOCATE(count, int64_t);
    for (size_t i = 0; i < count; i++) places[i] = (int64_t)((double)i * step);
    char *path = format_text("%s/%s", folder, name);
    store_array(writer, path, STORE_INT64, 1, &count, places, false);
    store_scale(writer, path, 0, path);
    free(path);
    free(places);
}

/* The scale of an axis of a table. Tables that are equally long along an axis of one name share its
   scale; a table of another length has its own. */
typedef struct {
    char *name;
    bool is_new;
} Axis;

static Axis axis_of(const ResultFile *result, size_t table, int axis) {
    const PositionTable *wanted = &result->tables[table].table;
    for (size_t i = 0; i <= table; i++) {
        const PositionTable *other = &result->tables[i].table;
        for (int a = 0; a < other->rank; a++) {
            if (strcmp(other->axes[a], wanted->axes[axis]) != 0) continue;
            if (other->dims[a] != wanted->dims[axis])
                return (Axis){format_text("%s_%s", wanted->name, wanted->axes[axis]), true};
            return (Axis){copy_text(wanted->axes[axis]), i == table && a == axis};
        }
    }
    CHECK(false, "an axis is not among the axes");
}

/* ---- tables ---------------------------------------------------------------------------- */

/* Learned tables have the precision of the parameters. */
static void write_values(StoreWriter *writer, const char *path, const PositionTable *table,
                         int rank, const size_t *dims, const double *values, bool unlimited) {
    if (strcmp(table->kind, "learned") != 0 || STORE_REAL == STORE_FLOAT64) {
        store_array(writer, path, STORE_FLOAT64, rank, dims, values, unlimited);
        return;
    }
    size_t count = 1;
    for (int axis = 0; axis < rank; axis++) count *= dims[axis];
    float *narrow = ALLOCATE(count, float);
    for (size_t i = 0; i < count; i++) narrow[i] = (float)values[i];
    store_array(writer, path, STORE_FLOAT32, rank, dims, narrow, unlimited);
    free(narrow);
}

/* Where one table of the encoding has counts, they have the plain name. */
static char *update_count_name(const ResultFile *result, const PositionTable *table) {
    size_t counted = 0;
    for (size_t i = 0; i < result->table_count; i++)
        counted += result->tables[i].update_count != NULL;
    return counted == 1 ? copy_text("update_count") : format_text("%s_update_count", table->name);
}

static void write_update_count(StoreWriter *writer, const char *folder, const ResultFile *result,
                               const ResultTable *entry, const char *const *axes) {
    char *name = update_count_name(result, &entry->table);
    char *path = format_text("%s/%s", folder, name);
    char *table = format_text("%s/%s", folder, entry->table.name);
    store_array(writer, path, STORE_INT64, 1, entry->table.dims, entry->update_count, false);
    store_attribute_text(writer, path, "long_name", "steps that gave the row a gradient");
    result_attach(writer, folder, name, 1, axes);
    store_attribute_text(writer, table, "update_count", name);
    free(table);
    free(path);
    free(name);
}

static void write_snapshots(StoreWriter *writer, const char *folder, const ResultFile *result,
                            const ResultTable *entry, const char *const *axes) {
    int rank = entry->table.rank + 1;
    size_t dims[STORE_RANK] = {result->snapshot_count};
    const char *names[STORE_RANK] = {"snapshot_step"};
    for (int axis = 1; axis < rank; axis++) {
        dims[axis] = entry->table.dims[axis - 1];
        names[axis] = axes[axis - 1];
    }
    char *name = format_text("%s_snapshots", entry->table.name);
    char *path = format_text("%s/%s", folder, name);
    char *table = format_text("%s/%s", folder, entry->table.name);
    write_values(writer, path, &entry->table, rank, dims, entry->snapshots, true);
    result_attach(writer, folder, name, rank, names);
    store_attribute_text(writer, table, "snapshots", name);
    free(table);
    free(path);
    free(name);
}

static void write_shape_names(StoreWriter *writer, const char *path, const PositionTable *table) {
    char *names = copy_text("");
    for (int axis = 0; axis < table->rank; axis++) {
        char *longer = format_text("%s%s%s", names, axis ? "," : "", table->axes[axis]);
        free(names);
        names = longer;
    }
    store_attribute_text(writer, path, "shape_names", names);
    free(names);
}

static void write_table(StoreWriter *writer, const char *folder, const ResultFile *result,
                        size_t number) {
    const ResultTable *entry = &result->tables[number];
    const PositionTable *table = &entry->table;
    char *names[STORE_RANK];
    const char *const *axes = (const char *const *)names;
    for (int axis = 0; axis < table->rank; axis++) {
        Axis scale = axis_of(result, number, axis);
        if (scale.is_new) result_write_places(writer, folder, scale.name, table->dims[axis], 1);
        names[axis] = scale.name;
    }

    char *path = format_text("%s/%s", folder, table->name);
    write_values(writer, path, table, table->rank, table->dims, table->values, false);
    result_attach(writer, folder, table->name, table->rank, axes);
    write_shape_names(writer, path, table);
    store_attribute_text(writer, path, "kind", table->kind);
    store_attribute_text(writer, path, "convention", table->convention);
    if (table->unit && *table->unit) store_attribute_text(writer, path, "units", table->unit);
    store_attribute_integer(writer, path, "trained_length", result->trained_length);
    if (entry->update_count) write_update_count(writer, folder, result, entry, axes);
    if (entry->snapshots) write_snapshots(writer, folder, result, entry, axes);
    if (number == 0) result_write_plot(writer, folder, table->name, table->rank, axes);

    for (int axis = 0; axis < table->rank; axis++) free(names[axis]);
    free(path);
}

/* ---- similarity ------------------------------------------------------------------------ */

/* A row of length 1; NaN for a row of zeros. */
static void normalise(size_t n, const double *row, double *unit) {
    double square = 0;
    for (size_t i = 0; i < n; i++) square += row[i] * row[i];
    for (size_t i = 0; i < n; i++) unit[i] = row[i] / sqrt(square);
}

static double dot(size_t n, const double *a, const double *b) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static void write_similarity(StoreWriter *writer, const PositionTable *table) {
    static const char *const axes[] = {"position", "other_position"};
    size_t rows = least(table->dims[0], SIMILARITY_ROWS), channels = table->dims[1];
    double step = (double)table->dims[0] / (double)rows;
    double *units = ALLOCATE(rows * channels, double);
    for (size_t i = 0; i < rows; i++)
        normalise(channels, table->values + (size_t)((double)i * step) * channels,
                  units + i * channels);
    float *similarity = ALLOCATE(rows * rows, float);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j <= i; j++)
            similarity[i * rows + j] = similarity[j * rows + i] =
                (float)dot(channels, units + i * channels, units + j * channels);

    char *folder = format_text("/position/similarity/%s", table->name);
    char *path = format_text("%s/cosine", folder);
    result_write_places(writer, folder, axes[0], rows, step);
    result_write_places(writer, folder, axes[1], rows, step);
    store_array(writer, path, STORE_FLOAT32, 2, (size_t[]){rows, rows}, similarity, false);
    store_attribute_text(writer, path, "long_name", "cosine similarity of two rows of the table");
    result_attach(writer, folder, "cosine", 2, axes);
    result_write_plot(writer, folder, "cosine", 2, axes);
    free(path);
    free(folder);
    free(similarity);
    free(units);
}

void result_write_positions(StoreWriter *writer, const ResultFile *result) {
    char *folder = format_text("/position/%s", result->encoding);
    store_group(writer, folder);
    if (result->snapshot_count) {
        char *path = format_text("%s/snapshot_step", folder);
        store_array(writer, path, STORE_INT64, 1, &result->snapshot_count, result->snapshot_step,
                    true);
        store_scale(writer, path, 0, path);
        free(path);
    }
    for (size_t i = 0; i < result->table_count; i++) {
        const PositionTable *table = &result->tables[i].table;
        write_table(writer, folder, result, i);
        if (table->rank == 2 && !strcmp(table->axes[0], "position") &&
            !strcmp(table->axes[1], "channel") && table->dims[0])
            write_similarity(writer, table);
    }
    free(folder);
}
