#include "src/store/checkpoint.h"
#include "src/store/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int checkpoint_write(const Checkpoint *checkpoint, const char *path) {
    StoreWriter *writer = store_create();
    store_attribute_text(writer, "/", "format", STORE_CHECKPOINT_FORMAT);
    store_attribute_text(writer, "/", "format_version", STORE_FORMAT_VERSION);
    store_attribute_integer(writer, "/", "step", checkpoint->step);
    store_attribute_integer(writer, "/", "log_bytes", checkpoint->log_bytes);
    store_attribute_integer(writer, "/", "arrays", (int64_t)checkpoint->count);
    store_attribute_integer(writer, "/", "moves", checkpoint->moves);
    store_attribute_text(writer, "/", "config_sha256", checkpoint->config_sha256);
    store_attribute_text(writer, "/", "binary_sha256", checkpoint->binary_sha256);
    store_attribute_text(writer, "/", "cpu", checkpoint->cpu);
    store_attribute_text(writer, "/", "isa", checkpoint->isa);
    for (size_t i = 0; i < checkpoint->count; i++) {
        const CheckpointArray *array = &checkpoint->arrays[i];
        char *name = format_text("/%s", array->name);
        store_array(writer, name, array->type, array->rank, array->dims, array->data, false);
        free(name);
    }
    return store_publish(writer, path);
}

/* ---- reading --------------------------------------------------------------------------- */

static bool read_text(StoreReader *reader, const char *name, char *to, size_t room) {
    char *text = store_read_attribute_text(reader, "/", name);
    if (!text) return false;
    bool fits = strlen(text) < room;
    if (fits) memcpy(to, text, strlen(text) + 1);
    free(text);
    return fits || store_refuse(reader, "the attribute %s is longer than %zu bytes", name, room);
}

static bool read_attributes(StoreReader *reader, Checkpoint *expected) {
    char format[64], version[16], config[65];
    if (!read_text(reader, "format", format, sizeof format) ||
        !read_text(reader, "format_version", version, sizeof version))
        return false;
    if (strcmp(format, STORE_CHECKPOINT_FORMAT) != 0 || strcmp(version, STORE_FORMAT_VERSION) != 0)
        return store_refuse(reader, "is %s %s and not %s %s", format, version,
                            STORE_CHECKPOINT_FORMAT, STORE_FORMAT_VERSION);
    if (!reader->sealed) return store_refuse(reader, "has no seal: cut off, or changed since");
    if (!read_text(reader, "config_sha256", config, sizeof config)) return false;
    if (*expected->config_sha256 && strcmp(config, expected->config_sha256) != 0)
        return store_refuse(reader, "belongs to another config (%.12s and not %.12s)", config,
                            expected->config_sha256);
    memcpy(expected->config_sha256, config, sizeof config);
    /* Files before have none. */
    if (!store_read_attribute_integer(reader, "/", "moves", &expected->moves)) expected->moves = 0;
    return store_read_attribute_integer(reader, "/", "step", &expected->step) &&
           store_read_attribute_integer(reader, "/", "log_bytes", &expected->log_bytes) &&
           read_text(reader, "binary_sha256", expected->binary_sha256,
                     sizeof expected->binary_sha256) &&
           read_text(reader, "cpu", expected->cpu, sizeof expected->cpu) &&
           read_text(reader, "isa", expected->isa, sizeof expected->isa);
}

/* Takes the rows of a growing array from the file, when they fit. */
static bool take_rows(StoreReader *reader, const char *path, CheckpointArray *array) {
    StoreType type;
    size_t dims[STORE_RANK];
    int rank = store_shape(reader, path, &type, dims);
    if (rank < 0) return false;
    if (rank != array->rank || dims[0] > array->dims[0])
        return store_refuse(reader, "%s has more rows than the config allows", path);
    array->dims[0] = dims[0];
    return true;
}

static bool read_array(StoreReader *reader, CheckpointArray *array) {
    char *path = format_text("/%s", array->name);
    StoreType type;
    size_t dims[STORE_RANK];
    bool read = (!array->grows || take_rows(reader, path, array)) &&
                store_shape(reader, path, &type, dims) >= 0 &&
                (type == array->type || store_refuse(reader, "%s has another type", path)) &&
                store_read(reader, path, array->type, array->rank, array->dims, array->data);
    free(path);
    return read;
}

static bool read_arrays(StoreReader *reader, Checkpoint *expected) {
    int64_t count;
    if (!store_read_attribute_integer(reader, "/", "arrays", &count)) return false;
    if (count != (int64_t)expected->count)
        return store_refuse(reader, "holds %lld arrays, the config implies %zu", (long long)count,
                            expected->count);
    for (size_t i = 0; i < expected->count; i++)
        if (!read_array(reader, &expected->arrays[i])) return false;
    return true;
}

const char *checkpoint_read(const char *path, Checkpoint *expected) {
    static char sentence[512];
    const char *reason;
    StoreReader *reader = store_open(path, &reason);
    if (!reader) return reason;
    bool read =
        read_attributes(reader, expected) && (!expected->arrays || read_arrays(reader, expected));
    snprintf(sentence, sizeof sentence, "%s", store_reason(reader));
    store_close(reader);
    return read ? NULL : sentence;
}
