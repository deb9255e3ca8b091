#include "src/store/result.h"
#include "src/store/layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- groups of columns ----------------------------------------------------------------- */

static const void *pointer_at(const void *from, size_t offset) {
    const void *pointer;
    memcpy(&pointer, (const char *)from + offset, sizeof pointer);
    return pointer;
}

static size_t size_at(const void *from, size_t offset) {
    size_t size;
    memcpy(&size, (const char *)from + offset, sizeof size);
    return size;
}

void result_write_plot(StoreWriter *writer, const char *path, const char *signal, int rank,
                       const char *const *axes) {
    store_attribute_text(writer, path, "NX_class", "NXdata");
    store_attribute_text(writer, path, "signal", signal);
    store_attribute_texts(writer, path, "axes", (size_t)rank, axes);
}

void result_attach(StoreWriter *writer, const char *folder, const char *name, int rank,
                   const char *const *axes) {
    char *path = format_text("%s/%s", folder, name);
    for (int axis = 0; axis < rank; axis++) {
        char *scale = format_text("%s/%s", folder, axes[axis]);
        store_scale(writer, path, axis, scale);
        free(scale);
    }
    free(path);
}

static void write_column(StoreWriter *writer, const char *folder, const LayoutGroup *group,
                         const LayoutColumn *column, const void *from) {
    size_t dims[LAYOUT_RANK];
    int rank = layout_rank(column);
    for (int axis = 0; axis < rank; axis++)
        dims[axis] = size_at(from, layout_column(group, column->axes[axis])->count);
    bool grows = group->grows_along && !strcmp(column->axes[0], group->grows_along);

    char *path = format_text("%s/%s", folder, column->name);
    store_array(writer, path, column->type, rank, dims, pointer_at(from, column->data), grows);
    if (column->unit) store_attribute_text(writer, path, "units", column->unit);
    store_attribute_text(writer, path, "long_name", column->meaning);
    result_attach(writer, folder, column->name, rank, column->axes);
    free(path);
}

static void write_group(StoreWriter *writer, const char *path, const LayoutGroup *group,
                        const void *from) {
    const LayoutColumn *signal = layout_column(group, group->signal);
    store_group(writer, path);
    result_write_plot(writer, path, group->signal, layout_rank(signal), signal->axes);
    for (const LayoutColumn *column = group->columns; column->name; column++)
        write_column(writer, path, group, column, from);
}

static void write_attributes(StoreWriter *writer, const char *path,
                             const LayoutAttribute *attributes, const ResultFile *result) {
    for (const LayoutAttribute *a = attributes; a->name; a++) {
        const void *value = (const char *)result + a->offset;
        switch (a->kind) {
        case LAYOUT_TEXT:
            store_attribute_text(writer, path, a->name, *(const char *const *)value);
            break;
        case LAYOUT_INTEGER:
            store_attribute_integer(writer, path, a->name, *(const int64_t *)value);
            break;
        case LAYOUT_BOOLEAN:
            store_attribute_boolean(writer, path, a->name, *(const bool *)value);
            break;
        }
    }
}

/* ---- config ---------------------------------------------------------------------------- */

static void write_lines(StoreWriter *writer, const char *path, const char *text) {
    char *copy = copy_text(text ? text : ""), *rest;
    size_t count = 0;
    const char **lines = ALLOCATE(strlen(copy) / 2 + 1, const char *);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        lines[count++] = line;
    store_texts(writer, path, count, lines);
    free(lines);
    free(copy);
}

static void write_config(StoreWriter *writer, const ResultFile *result) {
    store_text(writer, "/config/lua", result->lua);
    store_text(writer, "/config/resolved_json", result->resolved_json);
    write_lines(writer, "/config/overrides", result->overrides);
    store_text(writer, "/config/sources", result->sources);
}

/* ---- evaluation ------------------------------------------------------------------------ */

static void write_final(StoreWriter *writer, const ResultEvaluate *evaluate) {
    size_t lengths = evaluate->lengths;
    LayoutFinal row = {.lengths = lengths,
                       .length = evaluate->length,
                       .baseline_random = evaluate->baseline_random,
                       .baseline_majority = evaluate->baseline_majority,
                       .defined = evaluate->defined};
    /* Before the first evaluation nothing is measured. */
    double *none = ALLOCATE(lengths, double);
    int64_t *zero = ALLOCATE(lengths, int64_t);
    for (size_t i = 0; i < lengths; i++) none[i] = (double)NAN;
#define LAST(field, otherwise)                                                                     \
    row.field = evaluate->steps ? evaluate->field + (evaluate->steps - 1) * lengths : (otherwise)
    LAST(token_accuracy, none);
    LAST(token_accuracy_low, none);
    LAST(token_accuracy_high, none);
    LAST(sequence_accuracy, none);
    LAST(loss, none);
    LAST(examples, zero);
#undef LAST
    write_group(writer, "/evaluate/final", &layout_final, &row);
    free(none);
    free(zero);
}

static void write_reasons(StoreWriter *writer, const ResultEvaluate *evaluate) {
    const char **reasons = ALLOCATE(evaluate->lengths, const char *);
    for (size_t i = 0; i < evaluate->lengths; i++)
        reasons[i] = evaluate->reason && evaluate->reason[i] ? evaluate->reason[i] : "";
    store_texts(writer, "/evaluate/undefined_reason", evaluate->lengths, reasons);
    store_scale(writer, "/evaluate/undefined_reason", 0, "/evaluate/length");
    free(reasons);
}

static void write_one_length(StoreWriter *writer, const char *folder, size_t length,
                             const LayoutGroup *group, const void *from) {
    char *path = format_text("/evaluate/%s/%zu", folder, length);
    write_group(writer, path, group, from);
    store_attribute_integer(writer, path, "length", (int64_t)length);
    free(path);
}

static void write_evaluate(StoreWriter *writer, const ResultFile *result) {
    write_group(writer, "/evaluate", &layout_evaluate, &result->evaluate);
    write_reasons(writer, &result->evaluate);
    write_final(writer, &result->evaluate);
    for (size_t i = 0; i < result->by_position_count; i++)
        write_one_length(writer, "by_position", result->by_position[i].length, &layout_by_position,
                         &result->by_position[i]);
    for (size_t i = 0; i < result->by_distance_count; i++)
        write_one_length(writer, "by_distance", result->by_distance[i].length, &layout_by_distance,
                         &result->by_distance[i]);
}

static void write_validate(StoreWriter *writer, const ResultValidate *validate) {
    if (!validate->length) return;
    store_group(writer, "/validate");
    store_attribute_integer(writer, "/validate", "length", validate->length);
    store_attribute_integer(writer, "/validate", "examples", validate->examples);
    store_attribute_number(writer, "/validate", "loss", validate->loss);
    store_attribute_number(writer, "/validate", "token_accuracy", validate->token_accuracy);
    store_attribute_number(writer, "/validate", "sequence_accuracy", validate->sequence_accuracy);
}

static void write_decay(StoreWriter *writer, const ResultDecay *decay) {
    static const char *const axes[] = {"layer", "head", "distance"};
    if (!decay->length) return;
    const size_t dims[] = {decay->layers, decay->heads, decay->length};
    store_group(writer, "/decay");
    for (int axis = 0; axis < 3; axis++)
        result_write_places(writer, "/decay", axes[axis], dims[axis], 1);
    store_array(writer, "/decay/score", STORE_FLOAT64, 3, dims, decay->score, false);
    store_attribute_text(writer, "/decay/score", "long_name",
                         "mean attention score before the softmax, by distance of the key");
    result_attach(writer, "/decay", "score", 3, axes);
    if (decay->bound) {
        store_array(writer, "/decay/bound", STORE_FLOAT64, 1, &dims[2], decay->bound, false);
        store_attribute_text(writer, "/decay/bound", "long_name",
                             "mean of |S_j|, RoFormer (arXiv 2104.09864) equation 37");
        result_attach(writer, "/decay", "bound", 1, &axes[2]);
    }
    result_write_plot(writer, "/decay", "score", 3, axes);
}

/* ---- the whole ------------------------------------------------------------------------- */

static void write_parameters(StoreWriter *writer, const ResultFile *result) {
    store_group(writer, "/parameters");
    for (size_t i = 0; i < result->array_count; i++) {
        const ResultParameter *array = &result->arrays[i];
        char *path = format_text("/parameters/%s", array->name);
        store_array(writer, path, STORE_REAL, array->rank, array->dims, array->values, false);
        store_attribute_text(writer, path, "shape_names", array->shape_names);
        free(path);
    }
}

int result_write(const ResultFile *result, const char *path) {
    StoreWriter *writer = store_create();
    store_attribute_text(writer, "/", "format", STORE_RUN_FORMAT);
    store_attribute_text(writer, "/", "format_version", STORE_FORMAT_VERSION);
    store_attribute_text(writer, "/", "NX_class", "NXroot");
    store_attribute_text(writer, "/", "default",
                         result->evaluate.steps ? "evaluate/final" : "train");
    write_attributes(writer, "/", layout_root, result);
    store_attribute_integer(writer, "/", "moves", result->moves); /* files before have none */
    write_config(writer, result);
    store_group(writer, "/environment");
    write_attributes(writer, "/environment", layout_environment, result);
    store_attribute_text(writer, "/environment", "hdf5", store_library_version());
    write_group(writer, "/train", &layout_train, &result->train);
    write_evaluate(writer, result);
    write_validate(writer, &result->validate);
    result_write_positions(writer, result);
    write_decay(writer, &result->decay);
    write_parameters(writer, result);
    return store_publish(writer, path);
}
