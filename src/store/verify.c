/* verify: is a file what docs/FORMAT.md says? */
#include "src/store/guard.h"
#include "src/store/internal.h"
#include "src/store/layout.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_DEPTH = 8, /* groups in groups: more is a cycle of links */
    MOST_OBJECTS = 100000
};

/* Calls visit for every member of a group; `path` is that of the member. */
typedef bool Visit(StoreReader *reader, const char *path, void *state);

static bool each_member(StoreReader *reader, const char *folder, Visit *visit, void *state) {
    char **names;
    int count = store_members(reader, folder, &names);
    bool good = count >= 0;
    for (int i = 0; i < count && good; i++) {
        char *path = format_text("%s/%s", strcmp(folder, "/") ? folder : "", names[i]);
        good = visit(reader, path, state);
        free(path);
    }
    store_free_names(names, count);
    return good;
}

/* The whole array, or NULL with a reason. */
static void *read_all(StoreReader *reader, const char *path, StoreType type, size_t *count) {
    StoreType found;
    size_t dims[STORE_RANK];
    int rank = store_shape(reader, path, &found, dims);
    if (rank < 0) return NULL;
    *count = 1;
    for (int axis = 0; axis < rank; axis++) *count *= dims[axis];
    void *data = malloc(*count * store_type_size(type) + 1);
    if (!data) store_refuse(reader, "%s is larger than the memory", path);
    if (data && !store_read(reader, path, type, rank, dims, data)) {
        free(data);
        return NULL;
    }
    return data;
}

/* ---- everything that is there ---------------------------------------------------------- */

typedef struct {
    int depth, objects;
    size_t arrays;
} Walk;

static bool walk_dataset(StoreReader *reader, const char *path, Walk *walk) {
    HANDLE dataset = store_open_dataset(reader, path);
    if (dataset < 0) return false;
    HANDLE type = H5Dget_type(dataset);
    if (H5Tget_class(type) == H5T_STRING) {
        char **texts;
        int count = store_read_texts(reader, path, &texts);
        store_free_names(texts, count);
        return count >= 0;
    }
    walk->arrays++;
    StoreType found;
    size_t dims[STORE_RANK], count;
    if (store_shape(reader, path, &found, dims) < 0) return false;
    void *data = read_all(reader, path, found, &count);
    free(data);
    return data != NULL;
}

static bool has_attribute(StoreReader *reader, const char *path, const char *name) {
    HANDLE object = store_open_object(reader, path);
    return H5Aexists(object, name) > 0;
}

/* Is the attribute the name of something in the folder? */
static bool names_member(StoreReader *reader, const char *path, const char *attribute,
                         const char *folder) {
    char *name = store_read_attribute_text(reader, path, attribute);
    if (!name) return false;
    char *member = format_text("%s/%s", folder, name);
    bool good = store_exists(reader, member);
    free(member);
    free(name);
    return good;
}

static bool walk_object(StoreReader *reader, const char *path, void *state) {
    Walk *walk = state;
    if (++walk->objects > MOST_OBJECTS)
        return store_refuse(reader, "has more than %d objects", MOST_OBJECTS);
    HANDLE object = store_open_object(reader, path);
    if (object < 0) return false;
    if (H5Iget_type(object) == H5I_DATASET) return walk_dataset(reader, path, walk);
    if (H5Iget_type(object) != H5I_GROUP)
        return store_refuse(reader, "%s is neither a group nor a dataset", path);
    if (walk->depth == MOST_DEPTH)
        return store_refuse(reader, "%s: groups lie more than %d deep in groups", path, MOST_DEPTH);
    walk->depth++;
    bool good =
        each_member(reader, path, walk_object, walk) &&
        (!has_attribute(reader, path, "signal") || names_member(reader, path, "signal", path));
    walk->depth--;
    return good;
}

/* ---- axes ------------------------------------------------------------------------------ */

/* Takes the length of the first scale. What no link leads to was deleted, though its bytes may
   still be there. */
static herr_t scale_length(hid_t dataset, unsigned axis, hid_t scale, void *length) {
    (void)dataset, (void)axis;
    if (H5Iget_name(scale, NULL, 0) <= 0) return -1;
    HANDLE creation = H5Dget_create_plist(scale);
    if (H5Pget_layout(creation) == H5D_VIRTUAL) return -1;
    HANDLE space = H5Dget_space(scale);
    if (H5Sget_simple_extent_ndims(space) != 1) return -1;
    H5Sget_simple_extent_dims(space, length, NULL);
    return 1;
}

/* Has every axis a scale of its length? */
static bool check_axes(StoreReader *reader, const char *path, void *state) {
    (void)state;
    HANDLE object = store_open_object(reader, path);
    if (H5Iget_type(object) == H5I_GROUP) return each_member(reader, path, check_axes, NULL);
    if (H5DSis_scale(object) > 0) return true;
    HANDLE space = H5Dget_space(object);
    hsize_t dims[H5S_MAX_RANK];
    int rank = H5Sget_simple_extent_dims(space, dims, NULL);
    for (int axis = 0; axis < rank; axis++) {
        hsize_t length = 0;
        if (H5DSiterate_scales(object, (unsigned)axis, NULL, scale_length, &length) != 1)
            return store_refuse(reader, "axis %d of %s has no dimension scale", axis, path);
        if (length != dims[axis])
            return store_refuse(reader, "axis %d of %s has %llu places, its scale %llu", axis, path,
                                (unsigned long long)dims[axis], (unsigned long long)length);
    }
    return true;
}

static bool check_all_axes(StoreReader *reader) {
    return check_axes(reader, "/train", NULL) && check_axes(reader, "/evaluate", NULL) &&
           check_axes(reader, "/position", NULL) &&
           (!store_exists(reader, "/decay") || check_axes(reader, "/decay", NULL));
}

/* ---- groups of columns ----------------------------------------------------------------- */

/* Do the values of a scale rise? */
static bool check_rising(StoreReader *reader, const char *path) {
    size_t count;
    int64_t *values = read_all(reader, path, STORE_INT64, &count);
    if (!values) return false;
    bool rising = true;
    for (size_t i = 1; i < count; i++) rising &= values[i - 1] < values[i];
    free(values);
    return rising || store_refuse(reader, "the values of %s do not rise", path);
}

static bool check_scale(StoreReader *reader, const char *folder, const char *path,
                        const LayoutColumn *column, int axis) {
    char *scale_path = format_text("%s/%s", folder, column->axes[axis]);
    HANDLE dataset = store_open_dataset(reader, path);
    HANDLE scale = store_open_dataset(reader, scale_path);
    bool is_scale = !strcmp(path, scale_path);
    bool good = scale >= 0 && (is_scale ? H5DSis_scale(scale) > 0
                                        : H5DSis_attached(dataset, scale, (unsigned)axis) > 0);
    if (!good) store_refuse(reader, "%s is not the scale of axis %d of %s", scale_path, axis, path);
    /* Lengths are in the order in which the user gave them. */
    if (good && is_scale && strcmp(column->name, "length") != 0) good = check_rising(reader, path);
    free(scale_path);
    return good;
}

static bool check_column(StoreReader *reader, const char *folder, const LayoutColumn *column) {
    char *path = format_text("%s/%s", folder, column->name);
    StoreType type;
    size_t dims[STORE_RANK];
    int rank = store_shape(reader, path, &type, dims);
    bool good = rank >= 0;
    if (good && (rank != layout_rank(column) || type != column->type))
        good = store_refuse(reader, "%s has another rank or type than the format says", path);
    for (int axis = 0; axis < rank && good; axis++)
        good = check_scale(reader, folder, path, column, axis);
    free(path);
    return good;
}

static bool check_group(StoreReader *reader, const char *folder, const LayoutGroup *group) {
    for (const LayoutColumn *column = group->columns; column->name; column++)
        if (!check_column(reader, folder, column)) return false;
    char *signal = store_read_attribute_text(reader, folder, "signal");
    if (!signal) return false;
    bool good = !strcmp(signal, group->signal);
    free(signal);
    return good || store_refuse(reader, "the default plot of %s is not %s", folder, group->signal);
}

static bool check_one_length(StoreReader *reader, const char *path, void *group) {
    int64_t length;
    return store_read_attribute_integer(reader, path, "length", &length) &&
           check_group(reader, path, *(const LayoutGroup *const *)group);
}

/* Groups that are there when something was measured. */
static bool check_lengths(StoreReader *reader, const char *folder, const LayoutGroup *group) {
    return !store_exists(reader, folder) || each_member(reader, folder, check_one_length, &group);
}

/* ---- what the values must say ---------------------------------------------------------- */

static bool check_final(StoreReader *reader) {
    size_t count, count_defined;
    double *accuracy = read_all(reader, "/evaluate/final/token_accuracy", STORE_FLOAT64, &count);
    uint8_t *defined = read_all(reader, "/evaluate/final/defined", STORE_BOOLEAN, &count_defined);
    bool good = accuracy && defined &&
                (count <= OPTION_LIST_SIZE ||
                 store_refuse(reader, "/evaluate/final has %zu lengths, a config at most %d",
                              count, OPTION_LIST_SIZE));
    for (size_t i = 0; i < count && good; i++) {
        if (accuracy[i] < 0 || accuracy[i] > 1)
            good = store_refuse(reader, "/evaluate/final has a token accuracy of %g", accuracy[i]);
        else if (!isnan(accuracy[i]) && !defined[i])
            good =
                store_refuse(reader, "/evaluate/final has a token accuracy where none is defined");
    }
    free(accuracy);
    free(defined);
    return good;
}

/* `state` is the group of the table. */
static bool check_table(StoreReader *reader, const char *path, void *state) {
    if (!has_attribute(reader, path, "kind")) return true; /* a scale or a companion */
    char *kind = store_read_attribute_text(reader, path, "kind");
    char *convention = store_read_attribute_text(reader, path, "convention");
    bool good = kind && convention;
    if (good && strcmp(kind, "fixed") != 0 && strcmp(kind, "learned") != 0)
        good = store_refuse(reader, "%s is of the unknown kind %s", path, kind);
    free(kind);
    free(convention);
    static const char *const companions[] = {"update_count", "snapshots"};
    for (size_t i = 0; i < 2 && good; i++)
        good = !has_attribute(reader, path, companions[i]) ||
               names_member(reader, path, companions[i], state);
    return good;
}

static bool check_tables(StoreReader *reader, const char *path, void *state) {
    (void)state;
    char *folder = copy_text(path);
    bool good = each_member(reader, path, check_table, folder);
    free(folder);
    return good;
}

static bool count_parameters(StoreReader *reader, const char *path, void *total) {
    HANDLE object = store_open_object(reader, path);
    if (H5Iget_type(object) == H5I_GROUP) return each_member(reader, path, count_parameters, total);
    StoreType type;
    size_t dims[STORE_RANK];
    int rank = store_shape(reader, path, &type, dims);
    if (rank < 0) return false;
    if (type != STORE_FLOAT32 && type != STORE_FLOAT64)
        return store_refuse(reader, "%s is no array of weights", path);
    int64_t elements = 1;
    for (int axis = 0; axis < rank; axis++) elements *= (int64_t)dims[axis];
    *(int64_t *)total += elements;
    return true;
}

static bool check_parameters(StoreReader *reader) {
    int64_t stated, found = 0;
    if (!store_read_attribute_integer(reader, "/", "parameter_count", &stated) ||
        !each_member(reader, "/parameters", count_parameters, &found))
        return false;
    return stated == found ||
           store_refuse(reader, "has %lld parameters and not the %lld that it states",
                        (long long)found, (long long)stated);
}

static bool check_attributes(StoreReader *reader, const char *path,
                             const LayoutAttribute *attributes) {
    for (const LayoutAttribute *a = attributes; a->name; a++) {
        int64_t integer;
        bool boolean, good = false;
        char *text = NULL;
        switch (a->kind) {
        case LAYOUT_TEXT:
            text = store_read_attribute_text(reader, path, a->name);
            good = text != NULL;
            free(text);
            break;
        case LAYOUT_INTEGER:
            good = store_read_attribute_integer(reader, path, a->name, &integer);
            break;
        case LAYOUT_BOOLEAN:
            good = store_read_attribute_boolean(reader, path, a->name, &boolean);
            break;
        }
        if (!good) return false;
    }
    return true;
}

static bool check_texts(StoreReader *reader) {
    static const char *const paths[] = {"/config/lua", "/config/resolved_json", "/config/sources"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char *text = store_read_text(reader, paths[i]);
        if (!text) return false;
        free(text);
    }
    char **texts;
    int count = store_read_texts(reader, "/config/overrides", &texts);
    store_free_names(texts, count);
    int reasons = store_read_texts(reader, "/evaluate/undefined_reason", &texts);
    store_free_names(texts, reasons);
    return count >= 0 && reasons >= 0;
}

/* ---- the two formats ------------------------------------------------------------------- */

static bool check_run(StoreReader *reader, const Walk *walk) {
    (void)walk;
    return check_attributes(reader, "/", layout_root) && names_member(reader, "/", "default", "") &&
           check_attributes(reader, "/environment", layout_environment) && check_texts(reader) &&
           check_group(reader, "/train", &layout_train) &&
           check_group(reader, "/evaluate", &layout_evaluate) &&
           check_group(reader, "/evaluate/final", &layout_final) &&
           check_lengths(reader, "/evaluate/by_position", &layout_by_position) &&
           check_lengths(reader, "/evaluate/by_distance", &layout_by_distance) &&
           check_all_axes(reader) && check_final(reader) &&
           each_member(reader, "/position", check_tables, NULL) && check_parameters(reader);
}

/* Is there an array of the same shape under the name in the other group? */
static bool has_twin(StoreReader *reader, const char *path, const char *group) {
    char *twin = format_text("/%s/%s", group, strchr(path + 1, '/') + 1);
    StoreType type, twin_type;
    size_t dims[STORE_RANK], twin_dims[STORE_RANK];
    int rank = store_shape(reader, path, &type, dims);
    int twin_rank = store_shape(reader, twin, &twin_type, twin_dims);
    bool same = rank >= 0 && twin_rank >= 0;
    if (same && (rank != twin_rank || type != twin_type ||
                 memcmp(dims, twin_dims, (size_t)rank * sizeof *dims) != 0))
        same = store_refuse(reader, "%s and %s differ in shape or type", path, twin);
    free(twin);
    return same;
}

static bool check_moments(StoreReader *reader, const char *path, void *state) {
    HANDLE object = store_open_object(reader, path);
    if (H5Iget_type(object) == H5I_GROUP) return each_member(reader, path, check_moments, state);
    return has_twin(reader, path, "moment1") && has_twin(reader, path, "moment2");
}

static bool check_checkpoint(StoreReader *reader, const Walk *walk) {
    static const char *const texts[] = {"config_sha256", "binary_sha256", "cpu", "isa"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *text = store_read_attribute_text(reader, "/", texts[i]);
        if (!text) return false;
        free(text);
    }
    int64_t step, log_bytes, arrays;
    if (!store_read_attribute_integer(reader, "/", "step", &step) ||
        !store_read_attribute_integer(reader, "/", "log_bytes", &log_bytes) ||
        !store_read_attribute_integer(reader, "/", "arrays", &arrays))
        return false;
    if (!reader->sealed) return store_refuse(reader, "has no seal: cut off, or changed since");
    if (step < 0 || log_bytes < 0) return store_refuse(reader, "has a negative step or log size");
    if (arrays != (int64_t)walk->arrays)
        return store_refuse(reader, "states %lld arrays and holds %zu", (long long)arrays,
                            walk->arrays);
    return each_member(reader, "/parameters", check_moments, NULL);
}

/* Tables of equally long columns, whose scale numbers the rows. */
static bool check_summary(StoreReader *reader, const Walk *walk) {
    (void)walk;
    static const char *const tables[] = {"/runs", "/groups", "/differences", "/claims"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char *scale = format_text("%s/row", tables[i]);
        bool good = check_rising(reader, scale) && check_axes(reader, tables[i], NULL);
        free(scale);
        if (!good) return false;
    }
    char **notes, *name = store_read_attribute_text(reader, "/", "name");
    int count = name ? store_read_texts(reader, "/notes", &notes) : -1;
    if (count >= 0) store_free_names(notes, count);
    free(name);
    return count >= 0;
}

static bool check_file(StoreReader *reader) {
    static const struct {
        const char *format;
        bool (*check)(StoreReader *reader, const Walk *walk);
    } formats[] = {{STORE_RUN_FORMAT, check_run},
                   {STORE_CHECKPOINT_FORMAT, check_checkpoint},
                   {STORE_SUMMARY_FORMAT, check_summary}};

    char *format = store_read_attribute_text(reader, "/", "format");
    bool known = false, good = false;
    for (size_t i = 0; format && i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(format, formats[i].format) != 0) continue;
        known = true;
        Walk walk = {0};
        good = store_known_version(reader) && each_member(reader, "/", walk_object, &walk) &&
               formats[i].check(reader, &walk);
    }
    if (format && !known) store_refuse(reader, "is of the unknown format %s", format);
    free(format);
    return good;
}

static bool verify_body(const void *path, FILE *to) {
    const char *reason;
    StoreReader *reader = store_open(path, &reason);
    if (!reader) {
        fputs(reason, to);
        return false;
    }
    bool good = check_file(reader);
    if (!good) fputs(store_reason(reader), to);
    store_close(reader);
    return good;
}

const char *store_verify(const char *path) {
    static char sentence[512];
    char *text;
    bool good = guard_run(verify_body, path, &text);
    snprintf(sentence, sizeof sentence, "%s", text);
    free(text);
    return good ? NULL : sentence;
}
