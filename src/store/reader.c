/* reader: an HDF5 file → plain arrays. The file may come from anywhere, so it is read whole into
   memory first, and every property is looked at before libhdf5 acts on it. */
#include "src/store/internal.h"
#include "src/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* deflate packs at most 1032 : 1. Small arrays may be all fill value and store nothing. */
static const uint64_t most_packing = 1100, always_allowed = 64 << 20, largest_chunk = 256 << 20;

bool store_refuse(StoreReader *reader, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reader->reason, sizeof reader->reason, format, arguments);
    va_end(arguments);
    utf8_clean(reader->reason, false);
    return false;
}

const char *store_reason(const StoreReader *reader) {
    return reader->reason;
}

/* ---- the file -------------------------------------------------------------------------- */

/* NULL with a reason when it is no file or does not fit. */
static void *read_whole(int fd, size_t *size, const char **reason) {
    struct stat status;
    *reason = fstat(fd, &status) != 0    ? strerror(errno)
              : !S_ISREG(status.st_mode) ? "is not a file"
                                         : NULL;
    if (*reason) return NULL;
    *size = (size_t)status.st_size;
    char *bytes = malloc(*size + 1);
    if (!bytes) *reason = "is larger than the memory";
    for (size_t got = 0; got < *size && !*reason;) {
        ssize_t n = read(fd, bytes + got, *size - got);
        if (n > 0)
            got += (size_t)n;
        else if (n == 0)
            *reason = "became shorter while it was read";
        else if (errno != EINTR)
            *reason = strerror(errno);
    }
    if (!*reason) return bytes;
    free(bytes);
    return NULL;
}

StoreReader *store_open(const char *path, const char **reason) {
    /* Without O_NONBLOCK the open of a named pipe waits for a writer. */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        *reason = strerror(errno);
        return NULL;
    }
    size_t size = 0;
    void *bytes = read_whole(fd, &size, reason);
    close(fd);
    StoreReader *reader = bytes ? store_open_bytes(bytes, size, reason) : NULL;
    free(bytes);
    return reader;
}

/* Is there a seal, and is it right? Leaves reader->size as that of the HDF5 part. */
static const char *check_seal(StoreReader *reader, const char *bytes) {
    if (reader->size < SEAL_SIZE) return NULL;
    size_t covered = reader->size - SEAL_SIZE;
    const char *found = bytes + covered;
    if (memcmp(found, SEAL_MARK, strlen(SEAL_MARK)) != 0) return NULL;
    char seal[SEAL_SIZE + 1];
    store_seal(bytes, covered, seal);
    if (memcmp(found, seal, SEAL_SIZE) != 0)
        return "is damaged: its bytes do not have the SHA-256 that is written at its end";
    reader->sealed = true;
    reader->size = covered;
    return NULL;
}

/* The end of file address of the superblock (HDF5 File Format Specification 3.0, section II.A), 0
   where there is none: libhdf5 minds a file that is too short, but not what was added to it. */
static uint64_t stated_end(const unsigned char *bytes, size_t size) {
    static const struct { size_t offset_size, end; } at[] = {{13, 40}, {13, 44}, {9, 28}, {9, 28}};
    if (size < 64) return 0;
    size_t version = bytes[8];
    if (version >= sizeof at / sizeof *at || bytes[at[version].offset_size] != 8) return 0;
    uint64_t end = 0;
    for (size_t i = 8; i-- > 0;) end = end << 8 | bytes[at[version].end + i];
    return end;
}

static const char *open_image(StoreReader *reader, void *bytes) {
    static const char signature[] = "\211HDF\r\n\032\n";
    if (reader->size < 8 || memcmp(bytes, signature, 8) != 0) return "is not an HDF5 file";
    const char *wrong = check_seal(reader, bytes);
    if (wrong) return wrong;
    if (stated_end(bytes, reader->size) != reader->size)
        return "is not as long as it says it is: cut off, or something was added";

    /* Not H5LTopen_file_image, which leaks. libhdf5 copies the bytes. */
    char name[64];
    HANDLE access = store_memory_access();
    MUST(H5Pset_file_image(access, bytes, reader->size));
    reader->file = H5Fopen(store_memory_name(name), H5F_ACC_RDONLY, access);
    if (reader->file >= 0) return NULL;
    static char text[300];
    char error[256];
    snprintf(text, sizeof text, "cannot be opened as HDF5: %s", store_library_error(error));
    return text;
}

StoreReader *store_open_bytes(void *bytes, size_t size, const char **reason) {
    StoreReader *reader = ALLOCATE(1, StoreReader);
    reader->file = H5I_INVALID_HID;
    reader->size = size;
    *reason = open_image(reader, bytes);
    if (!*reason) return reader;
    store_close(reader);
    return NULL;
}

void store_close(StoreReader *reader) {
    if (!reader) return;
    store_release(&reader->file);
    free(reader);
}

/* ---- the way to an object -------------------------------------------------------------- */

/* The member `name` of the group `from`; `path` is for the sentence. */
static hid_t open_member(StoreReader *reader, hid_t from, const char *name, const char *path) {
    if (H5Iget_type(from) != H5I_GROUP || !strcmp(name, ".") ||
        H5Lexists(from, name, H5P_DEFAULT) <= 0) {
        store_refuse(reader, "there is no %s", path);
        return -1;
    }
    H5L_info_t link;
    if (H5Lget_info(from, name, &link, H5P_DEFAULT) < 0) {
        store_refuse(reader, "%s has a damaged link", path);
        return -1;
    }
    if (link.type != H5L_TYPE_HARD) {
        store_refuse(reader, "%s lies behind a %s link, which is not followed", path,
                     link.type == H5L_TYPE_SOFT       ? "soft"
                     : link.type == H5L_TYPE_EXTERNAL ? "external"
                                                      : "user-defined");
        return -1;
    }
    hid_t object = H5Oopen(from, name, H5P_DEFAULT);
    if (object < 0) store_refuse(reader, "%s cannot be opened", path);
    return object;
}

hid_t store_open_object(StoreReader *reader, const char *path) {
    CHECK(path[0] == '/', "the path %s is not absolute", path);
    hid_t object = H5Oopen(reader->file, "/", H5P_DEFAULT);
    if (object < 0) store_refuse(reader, "the root group cannot be opened");
    char *names = copy_text(path), *rest;
    for (char *name = strtok_r(names, "/", &rest); name && object >= 0;
         name = strtok_r(NULL, "/", &rest)) {
        HANDLE parent = object;
        object = open_member(reader, parent, name, path);
    }
    free(names);
    return object;
}

bool store_exists(StoreReader *reader, const char *path) {
    HANDLE object = store_open_object(reader, path);
    return object >= 0;
}

void store_free_names(char **names, int count) {
    for (int i = 0; i < count; i++) free(names[i]);
    free(names);
}

typedef struct {
    char **names;
    int count, room;
} Names;

static herr_t add_name(hid_t group, const char *name, const H5L_info_t *link, void *to) {
    (void)group, (void)link;
    Names *list = to;
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 16;
        list->names = realloc(list->names, (size_t)list->room * sizeof *list->names);
        CHECK(list->names, "no memory for the names of %d members", list->room);
    }
    list->names[list->count++] = copy_text(name);
    return 0;
}

static bool list_members(hid_t group, H5_index_t order, Names *list) {
    *list = (Names){0};
    if (H5Literate(group, order, H5_ITER_INC, NULL, add_name, list) >= 0) return true;
    store_free_names(list->names, list->count);
    return false;
}

int store_members(StoreReader *reader, const char *path, char ***names) {
    *names = NULL;
    HANDLE group = store_open_object(reader, path);
    if (group < 0) return -1;
    if (H5Iget_type(group) != H5I_GROUP) {
        store_refuse(reader, "%s is not a group", path);
        return -1;
    }
    Names list;
    /* Groups of other programs may not know in what order their members came. */
    if (!list_members(group, H5_INDEX_CRT_ORDER, &list) &&
        !list_members(group, H5_INDEX_NAME, &list)) {
        store_refuse(reader, "the members of %s cannot be listed", path);
        return -1;
    }
    *names = list.names;
    return list.count;
}

/* ---- datasets -------------------------------------------------------------------------- */

/* What the creation list says about where the bytes are and how they are packed. */
static bool check_storage(StoreReader *reader, hid_t creation, size_t element, const char *path) {
    H5D_layout_t layout = H5Pget_layout(creation);
    if (layout == H5D_VIRTUAL)
        return store_refuse(reader, "%s is a virtual dataset, made of other files", path);
    if (layout != H5D_COMPACT && layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED)
        return store_refuse(reader, "%s has an unknown layout", path);
    if (H5Pget_external_count(creation) != 0)
        return store_refuse(reader, "%s keeps its bytes in another file", path);
    int filters = H5Pget_nfilters(creation);
    for (int i = 0; i < filters; i++) {
        unsigned flags, config;
        size_t values = 0;
        H5Z_filter_t filter =
            H5Pget_filter2(creation, (unsigned)i, &flags, &values, NULL, 0, NULL, &config);
        if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE &&
            filter != H5Z_FILTER_FLETCHER32)
            return store_refuse(reader, "%s is packed with filter %d, which is not used here", path,
                                (int)filter);
    }
    if (layout != H5D_CHUNKED) return true;
    hsize_t chunk[H5S_MAX_RANK];
    int rank = H5Pget_chunk(creation, H5S_MAX_RANK, chunk);
    uint64_t bytes = element;
    for (int axis = 0; axis < rank; axis++)
        if (__builtin_mul_overflow(bytes, chunk[axis], &bytes) || bytes > largest_chunk)
            return store_refuse(reader, "%s has chunks larger than 256 MiB", path);
    return rank > 0 || store_refuse(reader, "%s has a damaged layout", path);
}

/* Does it declare more than its bytes can hold, or than the machine has? */
static bool check_size(StoreReader *reader, hid_t dataset, size_t element, const char *path) {
    HANDLE space = H5Dget_space(dataset);
    H5S_class_t class = H5Sget_simple_extent_type(space);
    if (class != H5S_SCALAR && class != H5S_SIMPLE)
        return store_refuse(reader, "%s has no extent", path);
    hsize_t dims[H5S_MAX_RANK];
    int rank = H5Sget_simple_extent_dims(space, dims, NULL);
    uint64_t declared = element, stored = H5Dget_storage_size(dataset);
    bool fits = rank >= 0;
    for (int axis = 0; axis < rank && fits; axis++)
        fits = !__builtin_mul_overflow(declared, dims[axis], &declared);
    const uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    if (fits && stored <= reader->size && declared <= memory &&
        (declared <= always_allowed || declared / most_packing <= stored))
        return true;
    char of_declared[32], of_stored[32];
    return store_refuse(reader, "%s declares %s and stores %s", path,
                        fits ? bytes_text((double)declared, of_declared) : "more than memory",
                        bytes_text((double)stored, of_stored));
}

hid_t store_open_dataset(StoreReader *reader, const char *path) {
    HANDLE object = store_open_object(reader, path);
    if (object < 0) return -1;
    if (H5Iget_type(object) != H5I_DATASET) {
        store_refuse(reader, "%s is not a dataset", path);
        return -1;
    }
    HANDLE creation = H5Dget_create_plist(object);
    HANDLE type = H5Dget_type(object);
    size_t element = type < 0 ? 0 : H5Tget_size(type);
    if (creation < 0 || !element) {
        store_refuse(reader, "%s has a damaged header", path);
        return -1;
    }
    if (!check_storage(reader, creation, element, path) ||
        !check_size(reader, object, element, path))
        return -1;
    H5Iinc_ref(object);
    return object;
}

static int shape_of(StoreReader *reader, hid_t dataset, const char *path, StoreType *type,
                    size_t dims[STORE_RANK]) {
    HANDLE file_type = H5Dget_type(dataset);
    if (!store_type_of(file_type, type)) {
        store_refuse(reader, "%s does not hold numbers of a type of this format", path);
        return -1;
    }
    HANDLE space = H5Dget_space(dataset);
    int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 0 || rank > STORE_RANK) {
        store_refuse(reader, "%s has %d axes, more than %d", path, rank, STORE_RANK);
        return -1;
    }
    hsize_t extent[STORE_RANK];
    H5Sget_simple_extent_dims(space, extent, NULL);
    for (int axis = 0; axis < rank; axis++) dims[axis] = extent[axis];
    return rank;
}

int store_shape(StoreReader *reader, const char *path, StoreType *type, size_t dims[STORE_RANK]) {
    HANDLE dataset = store_open_dataset(reader, path);
    return dataset < 0 ? -1 : shape_of(reader, dataset, path, type, dims);
}

/* Conversions that keep the meaning; libhdf5 itself would clip whole numbers silently. */
static bool converts(StoreType from, StoreType to) {
    if (from == to) return true;
    if (from == STORE_FLOAT32 || from == STORE_FLOAT64)
        return to == STORE_FLOAT32 || to == STORE_FLOAT64;
    if (to == STORE_FLOAT64) return true;
    return to == STORE_INT64 && (from == STORE_INT32 || from == STORE_BOOLEAN);
}

/* "[64, 128]" */
static void shape_text(int rank, const size_t *dims, char text[128]) {
    size_t used = (size_t)snprintf(text, 128, "[");
    for (int axis = 0; axis < rank; axis++)
        used += (size_t)snprintf(text + used, 128 - used, axis ? ", %zu" : "%zu", dims[axis]);
    snprintf(text + used, 128 - used, "]");
}

static bool same_shape(StoreReader *reader, const char *path, int has_rank, const size_t *has,
                       int rank, const size_t *dims) {
    bool same = has_rank == rank;
    for (int axis = 0; axis < rank && same; axis++) same = has[axis] == dims[axis];
    if (same) return true;
    char is[128], should[128];
    shape_text(has_rank, has, is);
    shape_text(rank, dims, should);
    return store_refuse(reader, "%s has the shape %s and not %s", path, is, should);
}

bool store_has_shape(StoreReader *reader, const char *path, int rank, const size_t *dims) {
    StoreType type;
    size_t has[STORE_RANK];
    const int has_rank = store_shape(reader, path, &type, has);
    return has_rank >= 0 && same_shape(reader, path, has_rank, has, rank, dims);
}

/* Programs that give tokens store them as they come, in 64 bits. */
static bool read_narrow(StoreReader *reader, hid_t dataset, const char *path, size_t elements,
                        int32_t *data) {
    int64_t *wide = malloc(elements * sizeof *wide);
    bool good =
        wide && H5Dread(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, wide) >= 0;
    if (!good) store_refuse(reader, "%s cannot be read", path);
    for (size_t i = 0; i < elements && good; i++) {
        data[i] = (int32_t)wide[i];
        if (data[i] != wide[i])
            good =
                store_refuse(reader, "%s holds %lld, more than 32 bits", path, (long long)wide[i]);
    }
    free(wide);
    return good;
}

bool store_read(StoreReader *reader, const char *path, StoreType type, int rank, const size_t *dims,
                void *data) {
    HANDLE dataset = store_open_dataset(reader, path);
    if (dataset < 0) return false;
    StoreType found;
    size_t has[STORE_RANK], elements = 1;
    int has_rank = shape_of(reader, dataset, path, &found, has);
    if (has_rank < 0 || !same_shape(reader, path, has_rank, has, rank, dims)) return false;
    for (int axis = 0; axis < rank; axis++) elements *= dims[axis];
    if (!elements) return true;
    if (found == STORE_INT64 && type == STORE_INT32)
        return read_narrow(reader, dataset, path, elements, data);
    if (!converts(found, type)) return store_refuse(reader, "%s has another type", path);
    HANDLE memory = store_memory_type(type);
    if (H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) {
        char error[256];
        return store_refuse(reader, "%s cannot be read: %s", path, store_library_error(error));
    }
    return true;
}

double *store_read_column(StoreReader *reader, const char *path, size_t *count) {
    StoreType type;
    size_t dims[STORE_RANK];
    int rank = store_shape(reader, path, &type, dims);
    if (rank >= 0 && rank != 1) store_refuse(reader, "%s has %d axes and not one", path, rank);
    if (rank != 1) return NULL;
    double *values = ALLOCATE(most(dims[0], 1), double);
    *count = dims[0];
    if (store_read(reader, path, STORE_FLOAT64, 1, dims, values)) return values;
    free(values);
    return NULL;
}

/* ---- texts and attributes -------------------------------------------------------------- */

static bool is_text(hid_t type) {
    return H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) > 0;
}

int store_read_texts(StoreReader *reader, const char *path, char ***texts) {
    *texts = NULL;
    HANDLE dataset = store_open_dataset(reader, path);
    if (dataset < 0) return -1;
    HANDLE type = H5Dget_type(dataset);
    HANDLE space = H5Dget_space(dataset);
    hssize_t count = H5Sget_simple_extent_npoints(space);
    if (!is_text(type) || count < 0 || count > INT_MAX || H5Sget_simple_extent_ndims(space) > 1) {
        store_refuse(reader, "%s is not a list of texts", path);
        return -1;
    }
    char **list = ALLOCATE((size_t)count, char *);
    if (count && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, list) < 0) {
        store_refuse(reader, "the texts of %s cannot be read", path);
        free(list);
        return -1;
    }
    /* Copies of our own, which the caller can free. */
    *texts = ALLOCATE((size_t)count, char *);
    for (hssize_t i = 0; i < count; i++) (*texts)[i] = copy_text(list[i] ? list[i] : "");
    if (count) H5Dvlen_reclaim(type, space, H5P_DEFAULT, list);
    free(list);
    return (int)count;
}

char *store_read_text(StoreReader *reader, const char *path) {
    char **texts;
    int count = store_read_texts(reader, path, &texts);
    if (count < 0) return NULL;
    char *text = count == 1 ? texts[0] : NULL;
    if (!text) {
        store_refuse(reader, "%s is %d texts and not one", path, count);
        store_free_names(texts, count);
        return NULL;
    }
    free(texts);
    return text;
}

static hid_t open_attribute(StoreReader *reader, const char *path, const char *name) {
    HANDLE object = store_open_object(reader, path);
    if (object < 0) return -1;
    hid_t attribute =
        H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : H5I_INVALID_HID;
    if (attribute < 0) store_refuse(reader, "%s has no attribute %s", path, name);
    return attribute;
}

char *store_read_attribute_text(StoreReader *reader, const char *path, const char *name) {
    HANDLE attribute = open_attribute(reader, path, name);
    if (attribute < 0) return NULL;
    HANDLE type = H5Aget_type(attribute);
    HANDLE space = H5Aget_space(attribute);
    char *text = NULL;
    if (!is_text(type) || H5Sget_simple_extent_npoints(space) != 1 ||
        H5Aread(attribute, type, &text) < 0) {
        store_refuse(reader, "the attribute %s of %s is not a text", name, path);
        return NULL;
    }
    char *copy = copy_text(text ? text : "");
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, &text);
    return copy;
}

/* Reads a scalar attribute of a type that converts to `type`. */
static bool read_scalar(StoreReader *reader, const char *path, const char *name, StoreType type,
                        void *value) {
    HANDLE attribute = open_attribute(reader, path, name);
    if (attribute < 0) return false;
    HANDLE file_type = H5Aget_type(attribute);
    HANDLE space = H5Aget_space(attribute);
    HANDLE memory = store_memory_type(type);
    StoreType found;
    if (!store_type_of(file_type, &found) || !converts(found, type) ||
        H5Sget_simple_extent_npoints(space) != 1 || H5Aread(attribute, memory, value) < 0)
        return store_refuse(reader, "the attribute %s of %s has another type", name, path);
    return true;
}

bool store_read_attribute_number(StoreReader *reader, const char *path, const char *name,
                                 double *value) {
    return read_scalar(reader, path, name, STORE_FLOAT64, value);
}

bool store_read_attribute_integer(StoreReader *reader, const char *path, const char *name,
                                  int64_t *value) {
    return read_scalar(reader, path, name, STORE_INT64, value);
}

bool store_read_attribute_boolean(StoreReader *reader, const char *path, const char *name,
                                  bool *value) {
    uint8_t byte = 0;
    bool read = read_scalar(reader, path, name, STORE_BOOLEAN, &byte);
    *value = byte != 0;
    return read;
}

bool store_known_version(StoreReader *reader) {
    char *version = store_read_attribute_text(reader, "/", "format_version");
    const bool known = version && (!strncmp(version, "1.", 2) ||
                                   store_refuse(reader,
                                                "is of version %s of the format; this program "
                                                "reads 1",
                                                version));
    free(version);
    return known;
}
