/* writer: plain arrays → an HDF5 file in memory. Nothing here can meet a full disk. */
#include "src/store/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONTIGUOUS_BYTES = 4096,  /* smaller arrays are stored as they are: an index costs more */
    CHUNK_BYTES = 512 * 1024, /* half of the default chunk cache of readers */
    GROW_BYTES = 16 * 1024,   /* the chunk of a series that may grow */
    GROW_ROWS = 1024,
    DEFLATE_LEVEL = 4
};

struct StoreWriter {
    hid_t file;
};

/* Equal content gives equal bytes (no times), and members keep the order in which they came, which
   netCDF-4 asks for. */
static void keep_order(hid_t creation) {
    MUST(H5Pset_obj_track_times(creation, 0));
    MUST(H5Pset_attr_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
}

StoreWriter *store_create(void) {
    HANDLE access = store_memory_access();
    /* Images of files with a later low bound have a wrong checksum before 1.14.7. */
    MUST(H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18));
    HANDLE creation = MUST(H5Pcreate(H5P_FILE_CREATE));
    keep_order(creation);
    MUST(H5Pset_link_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    char name[64];
    StoreWriter *writer = ALLOCATE(1, StoreWriter);
    writer->file = MUST(H5Fcreate(store_memory_name(name), H5F_ACC_TRUNC, creation, access));
    return writer;
}

void store_discard(StoreWriter *writer) {
    H5Fclose(writer->file);
    free(writer);
}

void *store_image(StoreWriter *writer, size_t room, size_t *size) {
    MUST(H5Fflush(writer->file, H5F_SCOPE_GLOBAL));
    CHECK(H5Fget_obj_count(writer->file, H5F_OBJ_ALL) == 1, "the file has open objects");
    *size = (size_t)MUST(H5Fget_file_image(writer->file, NULL, 0));
    void *image = allocate(*size + room, 1);
    MUST(H5Fget_file_image(writer->file, image, *size));
    return image;
}

static void make_group(StoreWriter *writer, const char *path) {
    HANDLE creation = MUST(H5Pcreate(H5P_GROUP_CREATE));
    keep_order(creation);
    MUST(H5Pset_link_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    MUST(H5Gclose(MUST(H5Gcreate2(writer->file, path, H5P_DEFAULT, creation, H5P_DEFAULT))));
}

/* Makes the groups that end at a '/' behind the first. */
static void make_groups(StoreWriter *writer, const char *path) {
    CHECK(path[0] == '/', "the path %s is not absolute", path);
    char *part = copy_text(path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (!MUST(H5Lexists(writer->file, part, H5P_DEFAULT))) make_group(writer, part);
        *slash = '/';
    }
    free(part);
}

void store_group(StoreWriter *writer, const char *path) {
    char *with_slash = format_text("%s/", path);
    make_groups(writer, with_slash);
    free(with_slash);
}

/* ---- attributes ------------------------------------------------------------------------ */

static void write_attribute(StoreWriter *writer, const char *path, const char *name, hid_t type,
                            hid_t space, hid_t memory, const void *value) {
    HANDLE object = MUST(H5Oopen(writer->file, path, H5P_DEFAULT));
    HANDLE attribute = MUST(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT));
    MUST(H5Awrite(attribute, memory, value));
}

static void write_scalar_attribute(StoreWriter *writer, const char *path, const char *name,
                                   StoreType type, const void *value) {
    HANDLE file_type = store_file_type(type);
    HANDLE memory = store_memory_type(type);
    HANDLE space = MUST(H5Screate(H5S_SCALAR));
    write_attribute(writer, path, name, file_type, space, memory, value);
}

void store_attribute_number(StoreWriter *writer, const char *path, const char *name, double value) {
    write_scalar_attribute(writer, path, name, STORE_FLOAT64, &value);
}

void store_attribute_integer(StoreWriter *writer, const char *path, const char *name,
                             int64_t value) {
    write_scalar_attribute(writer, path, name, STORE_INT64, &value);
}

void store_attribute_boolean(StoreWriter *writer, const char *path, const char *name, bool value) {
    uint8_t byte = value;
    write_scalar_attribute(writer, path, name, STORE_BOOLEAN, &byte);
}

void store_attribute_text(StoreWriter *writer, const char *path, const char *name,
                          const char *value) {
    HANDLE type = store_text_type();
    HANDLE space = MUST(H5Screate(H5S_SCALAR));
    write_attribute(writer, path, name, type, space, type, &value);
}

void store_attribute_texts(StoreWriter *writer, const char *path, const char *name, size_t count,
                           const char *const *values) {
    HANDLE type = store_text_type();
    hsize_t dims[1] = {count};
    HANDLE space = MUST(H5Screate_simple(1, dims, NULL));
    write_attribute(writer, path, name, type, space, type, values);
}

/* ---- datasets -------------------------------------------------------------------------- */

static void write_dataset(StoreWriter *writer, const char *path, hid_t type, hid_t space,
                          hid_t creation, hid_t memory, const void *data) {
    make_groups(writer, path);
    keep_order(creation);
    HANDLE dataset =
        MUST(H5Dcreate2(writer->file, path, type, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    if (MUST(H5Sget_simple_extent_npoints(space)))
        MUST(H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
}

void store_text(StoreWriter *writer, const char *path, const char *value) {
    HANDLE type = store_text_type();
    HANDLE space = MUST(H5Screate(H5S_SCALAR));
    HANDLE creation = MUST(H5Pcreate(H5P_DATASET_CREATE));
    write_dataset(writer, path, type, space, creation, type, &value);
}

void store_texts(StoreWriter *writer, const char *path, size_t count, const char *const *values) {
    HANDLE type = store_text_type();
    hsize_t dims[1] = {count};
    HANDLE space = MUST(H5Screate_simple(1, dims, NULL));
    HANDLE creation = MUST(H5Pcreate(H5P_DATASET_CREATE));
    write_dataset(writer, path, type, space, creation, type, values);
}

/* Whole rows where they fit, otherwise the first axes are cut down: of a table with snapshots a
   chunk is one snapshot or a run of its rows. */
static void choose_chunk(hsize_t chunk[STORE_RANK], int rank, const size_t *dims, size_t size,
                         bool unlimited) {
    size_t bytes = size;
    for (int axis = 0; axis < rank; axis++) {
        chunk[axis] = most(dims[axis], 1);
        bytes *= chunk[axis];
    }
    if (unlimited) {
        size_t row = bytes / chunk[0];
        chunk[0] = least(most(GROW_BYTES / row, 1), GROW_ROWS);
        bytes = row * chunk[0];
    }
    for (int axis = 0; axis < rank && bytes > CHUNK_BYTES; axis++) {
        size_t row = bytes / chunk[axis];
        chunk[axis] = most(CHUNK_BYTES / row, 1);
        bytes = row * chunk[axis];
    }
}

/* What a tool that grows the array leaves unset is NaN, and not a number that looks measured. */
static void set_fill_value(hid_t creation, StoreType type) {
    double nan = (double)NAN;
    if (type == STORE_FLOAT32 || type == STORE_FLOAT64)
        MUST(H5Pset_fill_value(creation, H5T_NATIVE_DOUBLE, &nan));
}

void store_array(StoreWriter *writer, const char *path, StoreType type, int rank,
                 const size_t *dims, const void *data, bool unlimited) {
    CHECK(rank >= 0 && rank <= STORE_RANK && (rank > 0 || !unlimited), "rank %d", rank);
    hsize_t extent[STORE_RANK], most_extent[STORE_RANK], chunk[STORE_RANK];
    size_t bytes = store_type_size(type);
    for (int axis = 0; axis < rank; axis++) {
        extent[axis] = most_extent[axis] = dims[axis];
        bytes *= dims[axis];
    }
    if (unlimited) most_extent[0] = H5S_UNLIMITED;

    HANDLE creation = MUST(H5Pcreate(H5P_DATASET_CREATE));
    if (unlimited || (rank > 0 && bytes >= CONTIGUOUS_BYTES)) {
        choose_chunk(chunk, rank, dims, store_type_size(type), unlimited);
        MUST(H5Pset_chunk(creation, rank, chunk));
        /* In this order: the checksum is of the bytes as stored. */
        MUST(H5Pset_shuffle(creation));
        MUST(H5Pset_deflate(creation, DEFLATE_LEVEL));
        MUST(H5Pset_fletcher32(creation));
    }
    set_fill_value(creation, type);

    HANDLE file_type = store_file_type(type);
    HANDLE memory = store_memory_type(type);
    HANDLE space = MUST(rank ? H5Screate_simple(rank, extent, most_extent) : H5Screate(H5S_SCALAR));
    write_dataset(writer, path, file_type, space, creation, memory, data);
}

void store_scale(StoreWriter *writer, const char *path, int axis, const char *scale) {
    const char *name = strrchr(scale, '/') + 1;
    HANDLE scale_set = MUST(H5Dopen2(writer->file, scale, H5P_DEFAULT));
    if (!MUST(H5DSis_scale(scale_set))) MUST(H5DSset_scale(scale_set, name));
    HANDLE dataset = MUST(H5Dopen2(writer->file, path, H5P_DEFAULT));
    if (strcmp(path, scale) != 0) MUST(H5DSattach_scale(dataset, scale_set, (unsigned)axis));
    MUST(H5DSset_label(dataset, (unsigned)axis, name));
}
