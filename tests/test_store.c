/* store: what is written is read back and looks in HDF5 as docs/FORMAT.md says; a failing disk
   loses nothing; files that are damaged or made to harm are refused with a sentence. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/show.h"
#include "src/store/guard.h"
#include "src/store/internal.h"
#include "tests/small_result.h"

static char folder[32], path[64];

static void make_folder(void) {
    strcpy(folder, "/tmp/test_store_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file.h5", folder);
    store_start();
}

static int count_files(void) {
    DIR *listing = opendir(folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(listing));) count += entry->d_name[0] != '.';
    closedir(listing);
    return count;
}

static void remove_folder(void) {
    DIR *listing = opendir(folder);
    for (struct dirent *entry; (entry = readdir(listing));)
        if (entry->d_name[0] != '.') unlinkat(dirfd(listing), entry->d_name, 0);
    closedir(listing);
    ck_assert_int_eq(rmdir(folder), 0);
}

static unsigned char *read_file(const char *name, size_t *size) {
    FILE *file = fopen(name, "rb");
    ck_assert_ptr_nonnull(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = ALLOCATE(*size + 1, unsigned char);
    ck_assert_uint_eq(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static void write_file(const char *name, const void *bytes, size_t size) {
    FILE *file = fopen(name, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

/* Changes one byte of a file in place. */
static void change_byte(const char *name, size_t at, unsigned char byte) {
    int fd = open(name, O_WRONLY);
    ck_assert_int_eq(pwrite(fd, &byte, 1, (off_t)at), 1);
    close(fd);
}

/* Runs the body in a process of its own, also where Check does not fork. */
static void in_child(void (*body)(void)) {
    pid_t child = fork();
    if (child == 0) {
        body();
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
}

/* In a child, where Check's assertions do not reach. */
#define CHILD_ASSERT(condition)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static StoreReader *open_file(void) {
    const char *reason;
    StoreReader *reader = store_open(path, &reason);
    ck_assert_msg(reader != NULL, "%s", reason);
    return reader;
}

static void assert_says(const char *sentence, const char *part) {
    ck_assert_msg(sentence != NULL, "nothing was refused; expected: %s", part);
    ck_assert_msg(strstr(sentence, part) != NULL, "\"%s\" does not say \"%s\"", sentence, part);
    ck_assert_msg(!strchr(sentence, '\n'), "\"%s\" is more than a sentence", sentence);
}

/* ---- arrays ---------------------------------------------------------------------------- */

enum { TYPES = 5 };

static const struct {
    int rank;
    size_t dims[STORE_RANK];
    bool unlimited;
} shapes[] = {
    {0, {0}, false},
    {1, {1}, false},
    {1, {7}, false},
    {1, {0}, false},
    {1, {0}, true},
    {1, {5000}, true},
    {2, {40, 50}, false},
    {3, {3, 40, 50}, true},
    {3, {3, 40, 50}, false},
    {4, {9, 1, 8, 7}, false},
    {5, {2, 3, 4, 5, 6}, true},
    {3, {2, 0, 4}, true},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

START_TEST(arrays_come_back) {
    StoreType type = (StoreType)(_i % TYPES);
    int shape = _i / TYPES, rank = shapes[shape].rank;
    const size_t *dims = shapes[shape].dims;
    size_t size = store_type_size(type), count = 1;
    for (int axis = 0; axis < rank; axis++) count *= dims[axis];

    /* Every bit pattern survives, NaN's too. */
    unsigned char *data = ALLOCATE(count * size, unsigned char);
    for (size_t i = 0; i < count * size; i++)
        data[i] = type == STORE_BOOLEAN ? i % 3 == 0 : (unsigned char)(i * 167 + i / 256);
    StoreWriter *writer = store_create();
    store_array(writer, "/some/where/data", type, rank, dims, data, shapes[shape].unlimited);
    ck_assert_int_eq(store_publish(writer, path), 0);

    StoreReader *reader = open_file();
    StoreType found;
    size_t found_dims[STORE_RANK];
    ck_assert_int_eq(store_shape(reader, "/some/where/data", &found, found_dims), rank);
    ck_assert_int_eq(found, type);
    ck_assert_mem_eq(found_dims, dims, (size_t)rank * sizeof *dims);
    unsigned char *back = ALLOCATE(count * size, unsigned char);
    ck_assert_msg(store_read(reader, "/some/where/data", type, rank, dims, back), "%s",
                  store_reason(reader));
    ck_assert_mem_eq(back, data, count * size);
    store_close(reader);
    free(back);
    free(data);
}
END_TEST

START_TEST(arrays_on_disk) {
    static const double data[40 * 50];
    StoreWriter *writer = store_create();
    for (StoreType type = STORE_FLOAT32; type <= STORE_BOOLEAN; type++) {
        char name[16];
        snprintf(name, sizeof name, "/%d", type);
        store_array(writer, name, type, 2, (size_t[]){40, 50}, data, true);
    }
    ck_assert_int_eq(store_publish(writer, path), 0);

    StoreReader *reader = open_file();
    const hid_t expected[] = {H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_STD_I32LE, H5T_STD_I64LE};
    for (StoreType t = STORE_FLOAT32; t <= STORE_BOOLEAN; t++) {
        char name[16];
        snprintf(name, sizeof name, "/%d", t);
        HANDLE dataset = H5Dopen2(reader->file, name, H5P_DEFAULT);
        HANDLE type = H5Dget_type(dataset);
        if (t == STORE_BOOLEAN) {
            HANDLE base = H5Tget_super(type);
            ck_assert_int_gt(H5Tequal(base, H5T_STD_I8LE), 0);
            ck_assert_int_eq(H5Tget_nmembers(type), 2);
            for (int8_t value = 0; value < 2; value++) {
                char member[16];
                ck_assert_int_ge(H5Tenum_nameof(type, &value, member, sizeof member), 0);
                ck_assert_str_eq(member, value ? "TRUE" : "FALSE");
            }
        } else {
            ck_assert_int_gt(H5Tequal(type, expected[t]), 0);
        }
        HANDLE space = H5Dget_space(dataset);
        hsize_t dims[2], most_dims[2];
        ck_assert_int_eq(H5Sget_simple_extent_dims(space, dims, most_dims), 2);
        ck_assert(most_dims[0] == H5S_UNLIMITED && most_dims[1] == 50);

        HANDLE creation = H5Dget_create_plist(dataset);
        static const H5Z_filter_t filters[] = {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE,
                                               H5Z_FILTER_FLETCHER32};
        ck_assert_int_eq(H5Pget_nfilters(creation), 3);
        for (unsigned i = 0; i < 3; i++) {
            unsigned flags, config;
            size_t values = 0;
            ck_assert_int_eq(H5Pget_filter2(creation, i, &flags, &values, NULL, 0, NULL, &config),
                             filters[i]);
        }
        H5O_info_t info;
        ck_assert_int_ge(H5Oget_info(dataset, &info), 0);
        ck_assert(info.ctime == 0 && info.mtime == 0);
    }
    store_close(reader);
}
END_TEST

START_TEST(numbers_convert_where_nothing_is_lost) {
    StoreWriter *writer = store_create();
    size_t two = 2;
    store_array(writer, "/f64", STORE_FLOAT64, 1, &two, (double[]){0.5, -3}, false);
    store_array(writer, "/i32", STORE_INT32, 1, &two, (int32_t[]){7, INT32_MIN}, false);
    store_array(writer, "/i64", STORE_INT64, 1, &two, (int64_t[]){7, INT64_MIN}, false);
    store_array(writer, "/small", STORE_INT64, 1, &two, (int64_t[]){INT32_MAX, INT32_MIN}, false);
    store_array(writer, "/bool", STORE_BOOLEAN, 1, &two, (uint8_t[]){1, 0}, false);
    ck_assert_int_eq(store_publish(writer, path), 0);

    StoreReader *reader = open_file();
    float f32[2];
    double f64[2];
    int64_t i64[2];
    int32_t i32[2];
    ck_assert(store_read(reader, "/f64", STORE_FLOAT32, 1, &two, f32));
    ck_assert(f32[0] == 0.5f && f32[1] == -3.0f);
    ck_assert(store_read(reader, "/i32", STORE_INT64, 1, &two, i64));
    ck_assert(i64[0] == 7 && i64[1] == INT32_MIN);
    ck_assert(store_read(reader, "/i64", STORE_FLOAT64, 1, &two, f64));
    ck_assert(f64[0] == 7.0 && f64[1] == -9223372036854775808.0);
    ck_assert(!store_read(reader, "/i64", STORE_INT32, 1, &two, i32));
    assert_says(store_reason(reader), "/i64 holds -9223372036854775808, more than 32 bits");
    ck_assert(store_read(reader, "/small", STORE_INT32, 1, &two, i32));
    ck_assert(i32[0] == INT32_MAX && i32[1] == INT32_MIN);
    ck_assert(!store_read(reader, "/f64", STORE_INT64, 1, &two, i64));
    assert_says(store_reason(reader), "/f64 has another type");
    ck_assert(store_read(reader, "/bool", STORE_INT64, 1, &two, i64));
    ck_assert(i64[0] == 1 && i64[1] == 0);
    ck_assert(store_read(reader, "/bool", STORE_FLOAT64, 1, &two, f64));
    ck_assert(f64[0] == 1.0 && f64[1] == 0.0);
    ck_assert(!store_read(reader, "/i64", STORE_BOOLEAN, 1, &two, i32));
    ck_assert(!store_read(reader, "/f64", STORE_FLOAT64, 1, (size_t[]){3}, f64));
    assert_says(store_reason(reader), "/f64 has the shape [2] and not [3]");
    store_close(reader);
}
END_TEST

START_TEST(names_and_order) {
    StoreWriter *writer = store_create();
    static const char *const members[] = {"z", "a", "größe", "b.c"};
    for (size_t i = 0; i < 4; i++) {
        char name[32];
        snprintf(name, sizeof name, "/group/%s", members[i]);
        store_array(writer, name, STORE_INT32, 0, NULL, &(int32_t){3}, false);
    }
    store_group(writer, "/empty");
    ck_assert_int_eq(store_publish(writer, path), 0);

    StoreReader *reader = open_file();
    char **names;
    ck_assert_int_eq(store_members(reader, "/group", &names), 4);
    for (size_t i = 0; i < 4; i++) ck_assert_str_eq(names[i], members[i]);
    store_free_names(names, 4);
    ck_assert_int_eq(store_members(reader, "/empty", &names), 0);
    store_free_names(names, 0);
    ck_assert(store_exists(reader, "/empty") && store_exists(reader, "/group/z"));
    ck_assert(!store_exists(reader, "/group/y") && !store_exists(reader, "/group/z/y"));
    ck_assert_int_eq(store_members(reader, "/group/z", &names), -1);
    assert_says(store_reason(reader), "/group/z is not a group");
    store_close(reader);
}
END_TEST

START_TEST(texts_and_attributes) {
    /* Longer than an object header can hold: 64 KiB. */
    char *longer = ALLOCATE(200001, char);
    memset(longer, 'x', 200000);
    static const char *const list[] = {"one", "", "drei ü"};
    StoreWriter *writer = store_create();
    store_text(writer, "/text", longer);
    store_text(writer, "/none", "");
    store_texts(writer, "/texts", 3, list);
    store_texts(writer, "/no_texts", 0, NULL);
    store_attribute_text(writer, "/", "root", "größe\n");
    store_attribute_text(writer, "/text", "none", "");
    store_attribute_text(writer, "/text", "long", longer);
    store_attribute_texts(writer, "/text", "list", 3, list);
    store_attribute_number(writer, "/text", "number", 0.1);
    store_attribute_integer(writer, "/text", "integer", INT64_MIN + 1);
    store_attribute_boolean(writer, "/text", "yes", true);
    store_attribute_boolean(writer, "/text", "no", false);
    ck_assert_int_eq(store_publish(writer, path), 0);

    StoreReader *reader = open_file();
    char *text = store_read_text(reader, "/text");
    ck_assert_str_eq(text, longer);
    free(text);
    text = store_read_text(reader, "/none");
    ck_assert_str_eq(text, "");
    free(text);
    char **texts;
    ck_assert_int_eq(store_read_texts(reader, "/texts", &texts), 3);
    for (size_t i = 0; i < 3; i++) ck_assert_str_eq(texts[i], list[i]);
    store_free_names(texts, 3);
    ck_assert_int_eq(store_read_texts(reader, "/no_texts", &texts), 0);
    store_free_names(texts, 0);
    ck_assert_ptr_null(store_read_text(reader, "/texts"));
    assert_says(store_reason(reader), "/texts is 3 texts and not one");

    static const char *const at[] = {"/", "/text", "/text"}, *const name[] = {"root", "none",
                                                                              "long"};
    const char *const value[] = {"größe\n", "", longer};
    for (size_t i = 0; i < 3; i++) {
        text = store_read_attribute_text(reader, at[i], name[i]);
        ck_assert_str_eq(text, value[i]);
        free(text);
    }
    double number;
    int64_t integer;
    bool yes, no;
    ck_assert(store_read_attribute_number(reader, "/text", "number", &number) && number == 0.1);
    ck_assert(store_read_attribute_integer(reader, "/text", "integer", &integer));
    ck_assert(integer == INT64_MIN + 1);
    ck_assert(store_read_attribute_boolean(reader, "/text", "yes", &yes) && yes);
    ck_assert(store_read_attribute_boolean(reader, "/text", "no", &no) && !no);
    ck_assert(store_read_attribute_number(reader, "/text", "yes", &number) && number == 1.0);
    ck_assert(!store_read_attribute_integer(reader, "/text", "number", &integer));
    ck_assert(!store_read_attribute_integer(reader, "/text", "nothing", &integer));
    assert_says(store_reason(reader), "/text has no attribute nothing");
    ck_assert_ptr_null(store_read_attribute_text(reader, "/text", "list"));
    store_close(reader);
    free(longer);
}
END_TEST

START_TEST(scales) {
    size_t dims[] = {3, 2};
    StoreWriter *writer = store_create();
    store_array(writer, "/g/step", STORE_INT64, 1, dims, (int64_t[]){1, 2, 3}, true);
    store_array(writer, "/g/length", STORE_INT64, 1, dims + 1, (int64_t[]){8, 9}, false);
    store_array(writer, "/g/loss", STORE_FLOAT64, 2, dims, (double[6]){0}, true);
    store_scale(writer, "/g/step", 0, "/g/step");
    store_scale(writer, "/g/loss", 0, "/g/step");
    store_scale(writer, "/g/loss", 1, "/g/length");
    ck_assert_int_eq(store_publish(writer, path), 0);

    StoreReader *reader = open_file();
    HANDLE loss = H5Dopen2(reader->file, "/g/loss", H5P_DEFAULT);
    static const char *const names[] = {"step", "length"};
    for (unsigned axis = 0; axis < 2; axis++) {
        char scale_path[16], label[16], name[16];
        snprintf(scale_path, sizeof scale_path, "/g/%s", names[axis]);
        HANDLE scale = H5Dopen2(reader->file, scale_path, H5P_DEFAULT);
        ck_assert_int_gt(H5DSis_scale(scale), 0);
        ck_assert_int_gt(H5DSis_attached(loss, scale, axis), 0);
        ck_assert_int_eq(H5DSis_attached(loss, scale, !axis), 0);
        ck_assert_int_ge(H5DSget_scale_name(scale, name, sizeof name), 0);
        ck_assert_str_eq(name, names[axis]);
        ck_assert_int_ge(H5DSget_label(loss, axis, label, sizeof label), 0);
        ck_assert_str_eq(label, names[axis]);
    }
    ck_assert_int_eq(H5DSis_scale(loss), 0);
    store_close(reader);
}
END_TEST

/* ---- publishing ------------------------------------------------------------------------ */

START_TEST(equal_content_gives_equal_bytes) {
    unsigned char *bytes[2];
    size_t size[2];
    for (int i = 0; i < 2; i++) {
        ResultFile result = small_result();
        ck_assert_int_eq(result_write(&result, path), 0);
        bytes[i] = read_file(path, &size[i]);
        sleep(1 - i); /* times, if there were any, would differ */
    }
    ck_assert_uint_eq(size[0], size[1]);
    ck_assert_mem_eq(bytes[0], bytes[1], size[0]);
    free(bytes[0]);
    free(bytes[1]);
}
END_TEST

START_TEST(seal_is_the_hash_of_the_rest) {
    ResultFile result = small_result();
    ck_assert_int_eq(result_write(&result, path), 0);
    char command[160], line[128];
    snprintf(command, sizeof command, "head -c -%d %s | sha256sum", SEAL_SIZE, path);
    FILE *sum = popen(command, "r");
    ck_assert_ptr_nonnull(fgets(line, sizeof line, sum));
    ck_assert_int_eq(pclose(sum), 0);
    size_t size;
    char *bytes = (char *)read_file(path, &size);
    ck_assert_mem_eq(bytes + size - SEAL_SIZE, "\nsha256 ", 8);
    ck_assert_mem_eq(bytes + size - SEAL_SIZE + 8, line, 64);
    ck_assert_int_eq(bytes[size - 1], '\n');
    free(bytes);
}
END_TEST

enum { OLD_SIZE = 5, NEW_SIZE = 300000 };

/* Whatever the limit on the size of a file, the old one or the new one is there, whole. */
static void publish_under_limits(void) {
    static char new_bytes[NEW_SIZE];
    signal(SIGXFSZ, SIG_IGN);
    static const rlim_t limits[] = {0, 1, 4096, 100000, NEW_SIZE - 1, NEW_SIZE};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        CHILD_ASSERT(setrlimit(RLIMIT_FSIZE, &(struct rlimit){limits[i], RLIM_INFINITY}) == 0);
        int error = store_publish_bytes(new_bytes, NEW_SIZE, path);
        CHILD_ASSERT(error == (limits[i] < NEW_SIZE ? EFBIG : 0));
        CHILD_ASSERT(count_files() == 1);
        struct stat status;
        CHILD_ASSERT(stat(path, &status) == 0);
        CHILD_ASSERT(status.st_size == (limits[i] < NEW_SIZE ? OLD_SIZE : NEW_SIZE));
    }
}

START_TEST(full_disk_keeps_the_old_file) {
    write_file(path, "older", OLD_SIZE);
    in_child(publish_under_limits);
}
END_TEST

static void publish_result_under_limit(void) {
    signal(SIGXFSZ, SIG_IGN);
    CHILD_ASSERT(setrlimit(RLIMIT_FSIZE, &(struct rlimit){20000, 20000}) == 0);
    ResultFile result = small_result();
    result.lua = "changed";
    CHILD_ASSERT(result_write(&result, path) == EFBIG);
    CHILD_ASSERT(count_files() == 1);
}

START_TEST(full_disk_keeps_the_old_result) {
    ResultFile result = small_result();
    ck_assert_int_eq(result_write(&result, path), 0);
    in_child(publish_result_under_limit);
    ck_assert_ptr_null(store_verify(path));
    StoreReader *reader = open_file();
    char *lua = store_read_text(reader, "/config/lua");
    ck_assert_str_eq(lua, result.lua);
    free(lua);
    store_close(reader);
}
END_TEST

static void publish_as_nobody(void) {
    /* root may write anywhere */
    if (geteuid() == 0) CHILD_ASSERT(setgid(65534) == 0 && setuid(65534) == 0);
    CHILD_ASSERT(store_publish_bytes("newer", 5, path) == EACCES);
}

START_TEST(unwritable_folder_keeps_the_old_file) {
    write_file(path, "older", OLD_SIZE);
    ck_assert_int_eq(chmod(folder, 0555), 0);
    in_child(publish_as_nobody);
    ck_assert_int_eq(chmod(folder, 0755), 0);
    size_t size;
    unsigned char *bytes = read_file(path, &size);
    ck_assert_uint_eq(size, OLD_SIZE);
    ck_assert_mem_eq(bytes, "older", OLD_SIZE);
    ck_assert_int_eq(count_files(), 1);
    free(bytes);
}
END_TEST

START_TEST(places_that_are_no_place) {
    char name[128];
    snprintf(name, sizeof name, "%s/gone/file", folder);
    ck_assert_int_eq(store_publish_bytes("x", 1, name), ENOENT);
    /* A folder has the name: rename says no, and the temporary file goes. */
    ck_assert_int_eq(mkdir(path, 0777), 0);
    ck_assert_int_eq(store_publish_bytes("x", 1, path), EISDIR);
    ck_assert_int_eq(count_files(), 1);
    ck_assert_int_eq(rmdir(path), 0);
    /* Somebody left a link under the temporary name: its target is not touched. */
    char target[128];
    snprintf(name, sizeof name, "%s.tmp", path);
    snprintf(target, sizeof target, "%s/target", folder);
    write_file(target, "mine", 4);
    ck_assert_int_eq(symlink(target, name), 0);
    ck_assert_int_eq(store_publish_bytes("x", 1, path), ELOOP);
    size_t size;
    unsigned char *bytes = read_file(target, &size);
    ck_assert_mem_eq(bytes, "mine", 4);
    free(bytes);
}
END_TEST

START_TEST(leftovers_are_replaced) {
    char name[128];
    snprintf(name, sizeof name, "%s.tmp", path);
    write_file(name, "left by a run that was killed", 29);
    ck_assert_int_eq(store_publish_bytes("new", 3, path), 0);
    size_t size;
    unsigned char *bytes = read_file(path, &size);
    ck_assert_uint_eq(size, 3);
    ck_assert_mem_eq(bytes, "new", 3);
    free(bytes);
    ck_assert_int_eq(count_files(), 1);
}
END_TEST

/* ---- files that are not as they should be ------------------------------------------------ */

/* Published once a process: fsync takes its time. */
static void write_result(void) {
    static unsigned char *bytes;
    static size_t size;
    if (!bytes) {
        ResultFile result = small_result();
        ck_assert_int_eq(result_write(&result, path), 0);
        bytes = read_file(path, &size);
    }
    write_file(path, bytes, size);
}

/* Opens the file with libhdf5 itself, as a tool that knows nothing of the format does. */
static hid_t edit(void) {
    HANDLE access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, access);
    ck_assert_int_ge(file, 0);
    return file;
}

START_TEST(result_is_well_formed) {
    write_result();
    ck_assert_ptr_null(store_verify(path));
    /* Edited by another tool, which cuts the seal off. */
    hid_t file = edit();
    HANDLE root = H5Gopen2(file, "/", H5P_DEFAULT);
    HANDLE space = H5Screate(H5S_SCALAR);
    HANDLE note = H5Acreate2(root, "note", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT);
    ck_assert_int_ge(note, 0);
    store_release(&note);
    store_release(&root);
    ck_assert_int_ge(H5Fclose(file), 0);
    ck_assert_ptr_null(store_verify(path));
    StoreReader *reader = open_file();
    ck_assert(!reader->sealed);
    store_close(reader);
}
END_TEST

START_TEST(result_before_the_first_evaluation) {
    ResultFile result = small_result();
    result.evaluate.steps = result.train.count = 0;
    result.by_position_count = result.by_distance_count = 0;
    result.table_count = result.snapshot_count = 0;
    result.overrides = "";
    ck_assert_int_eq(result_write(&result, path), 0);
    ck_assert_ptr_null(store_verify(path));
    StoreReader *reader = open_file();
    double accuracy[3];
    ck_assert(store_read(reader, "/evaluate/final/token_accuracy", STORE_FLOAT64, 1, (size_t[]){3},
                         accuracy));
    ck_assert(isnan(accuracy[0]) && isnan(accuracy[1]) && isnan(accuracy[2]));
    store_close(reader);
}
END_TEST

/* What a result says about itself, read the way other programs do. */
START_TEST(result_holds_what_was_given) {
    write_result();
    ResultFile given = small_result();
    StoreReader *reader = open_file();
    int64_t seed, length, counts[48], positions[48];
    ck_assert(store_read_attribute_integer(reader, "/", "seed", &seed));
    ck_assert_int_eq(seed, given.seed);
    char *text = store_read_attribute_text(reader, "/", "default");
    ck_assert_str_eq(text, "evaluate/final");
    free(text);
    char **lines;
    ck_assert_int_eq(store_read_texts(reader, "/config/overrides", &lines), 2);
    ck_assert_str_eq(lines[1], "model.width=8");
    store_free_names(lines, 2);

    double grid[6], final[3];
    ck_assert(
        store_read(reader, "/evaluate/token_accuracy", STORE_FLOAT64, 2, (size_t[]){2, 3}, grid));
    ck_assert_mem_eq(grid, given.evaluate.token_accuracy, sizeof grid);
    ck_assert(store_read(reader, "/evaluate/final/token_accuracy", STORE_FLOAT64, 1, (size_t[]){3},
                         final));
    ck_assert_mem_eq(final, given.evaluate.token_accuracy + 3, sizeof final);
    ck_assert(store_read_attribute_integer(reader, "/evaluate/by_distance/16", "length", &length));
    ck_assert_int_eq(length, 16);

    float table[48][32], snapshots[2][48][32], similarity[48][48];
    ck_assert(
        store_read(reader, "/position/learned/table", STORE_FLOAT32, 2, (size_t[]){48, 32}, table));
    ck_assert(store_read(reader, "/position/learned/table_snapshots", STORE_FLOAT32, 3,
                         (size_t[]){2, 48, 32}, snapshots));
    ck_assert_mem_eq(snapshots[1], table, sizeof table);
    for (int i = 0; i < 48; i++)
        for (int j = 0; j < 32; j++)
            ck_assert(table[i][j] == (float)given.tables[0].table.values[i * 32 + j]);
    text = store_read_attribute_text(reader, "/position/learned/table", "update_count");
    ck_assert_str_eq(text, "update_count");
    free(text);
    ck_assert(store_read(reader, "/position/learned/update_count", STORE_INT64, 1, (size_t[]){48},
                         counts));
    ck_assert_mem_eq(counts, given.tables[0].update_count, sizeof counts);
    ck_assert(store_read(reader, "/position/learned/position", STORE_INT64, 1, (size_t[]){48},
                         positions));
    ck_assert(positions[0] == 0 && positions[47] == 47);
    /* Two tables differ along their axis "channel": the second has a scale of its own. */
    ck_assert(store_exists(reader, "/position/learned/frequency_channel"));

    ck_assert(store_read(reader, "/position/similarity/table/cosine", STORE_FLOAT32, 2,
                         (size_t[]){48, 48}, similarity));
    ck_assert(isnan(similarity[0][5])); /* sin 0: a row of zeros */
    double ab = 0, aa = 0, bb = 0;
    for (int i = 0; i < 32; i++) {
        double a = sin(0.1 * 3 * (i + 1)), b = sin(0.1 * 7 * (i + 1));
        ab += a * b, aa += a * a, bb += b * b;
    }
    ck_assert(fabs((double)similarity[3][7] - ab / sqrt(aa * bb)) < 1e-6);
    ck_assert(fabs((double)similarity[9][9] - 1) < 1e-6);
    store_close(reader);
}
END_TEST

/* Things that make a file dangerous, added to a good one as /extra. */

static void add_soft_link(hid_t file) {
    H5Lcreate_soft("/train", file, "/extra", H5P_DEFAULT, H5P_DEFAULT);
}
static void add_external_link(hid_t file) {
    H5Lcreate_external("/etc/other.h5", "/x", file, "/extra", H5P_DEFAULT, H5P_DEFAULT);
}
static void add_cycle(hid_t file) {
    HANDLE group = H5Gcreate2(file, "/extra", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(file, "/extra", group, "again", H5P_DEFAULT, H5P_DEFAULT);
}
static void add_named_type(hid_t file) {
    HANDLE type = H5Tcopy(H5T_STD_I32LE);
    H5Tcommit2(file, "/extra", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
}
static void add_dataset(hid_t file, hid_t type, hsize_t places, hsize_t most, hid_t creation) {
    HANDLE space = H5Screate_simple(1, &places, &most);
    HANDLE dataset = H5Dcreate2(file, "/extra", type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    ck_assert_int_ge(dataset, 0);
}
static void add_external_storage(hid_t file) {
    HANDLE creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(creation, "/etc/passwd", 0, 8);
    add_dataset(file, H5T_STD_I32LE, 2, 2, creation);
}
static void add_virtual(hid_t file) {
    hsize_t places = 2;
    HANDLE space = H5Screate_simple(1, &places, NULL);
    HANDLE creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_virtual(creation, space, "/etc/other.h5", "/x", space);
    add_dataset(file, H5T_STD_I32LE, 2, 2, creation);
}
static void add_bomb(hid_t file) {
    HANDLE creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 1, &(hsize_t){1024});
    add_dataset(file, H5T_IEEE_F64LE, 1ull << 39, 1ull << 39, creation);
}
static void add_huge_chunk(hid_t file) {
    HANDLE creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 1, &(hsize_t){1 << 28});
    add_dataset(file, H5T_IEEE_F64LE, 2, H5S_UNLIMITED, creation);
}
static void add_filter(hid_t file) {
    HANDLE creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 1, &(hsize_t){2});
    H5Pset_nbit(creation);
    add_dataset(file, H5T_STD_I32LE, 2, 2, creation);
}
static void add_short_numbers(hid_t file) {
    add_dataset(file, H5T_STD_I16LE, 2, 2, H5P_DEFAULT);
}
static void add_big_endian(hid_t file) {
    add_dataset(file, H5T_IEEE_F32BE, 2, 2, H5P_DEFAULT);
}
static void add_bytes(hid_t file) {
    HANDLE type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, 8);
    add_dataset(file, type, 2, 2, H5P_DEFAULT);
}

/* Things that break the layout. */

static void write_number(hid_t file, const char *name, hsize_t at, double value) {
    HANDLE dataset = H5Dopen2(file, name, H5P_DEFAULT);
    HANDLE space = H5Dget_space(dataset);
    HANDLE one = H5Screate(H5S_SCALAR);
    H5Sselect_elements(space, H5S_SELECT_SET, 1, &at);
    ck_assert_int_ge(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, one, space, H5P_DEFAULT, &value), 0);
}
static void step_goes_back(hid_t file) {
    write_number(file, "/train/step", 2, 5);
}
static void accuracy_of_two(hid_t file) {
    write_number(file, "/evaluate/final/token_accuracy", 0, 2);
}
static void accuracy_where_undefined(hid_t file) {
    write_number(file, "/evaluate/final/token_accuracy", 2, 0.5);
}
static void series_grows_alone(hid_t file) {
    HANDLE dataset = H5Dopen2(file, "/train/loss", H5P_DEFAULT);
    ck_assert_int_ge(H5Dset_extent(dataset, &(hsize_t){9}), 0);
}
static void scale_is_detached(hid_t file) {
    HANDLE loss = H5Dopen2(file, "/train/loss", H5P_DEFAULT);
    HANDLE step = H5Dopen2(file, "/train/step", H5P_DEFAULT);
    ck_assert_int_ge(H5DSdetach_scale(loss, step, 0), 0);
}
static void table_without_scale(hid_t file) {
    HANDLE table = H5Dopen2(file, "/position/learned/table", H5P_DEFAULT);
    HANDLE scale = H5Dopen2(file, "/position/learned/channel", H5P_DEFAULT);
    ck_assert_int_ge(H5DSdetach_scale(table, scale, 1), 0);
}
static void decay_without_scale(hid_t file) {
    HANDLE score = H5Dopen2(file, "/decay/score", H5P_DEFAULT);
    HANDLE scale = H5Dopen2(file, "/decay/head", H5P_DEFAULT);
    ck_assert_int_ge(H5DSdetach_scale(score, scale, 1), 0);
}
static void loss_of_other_type(hid_t file) {
    H5Ldelete(file, "/train/loss", H5P_DEFAULT);
    H5Lcreate_hard(file, "/train/step", file, "/train/loss", H5P_DEFAULT, H5P_DEFAULT);
}
static void set_text(hid_t file, const char *at, const char *name, const char *value) {
    HANDLE object = H5Oopen(file, at, H5P_DEFAULT);
    HANDLE attribute = H5Aopen(object, name, H5P_DEFAULT);
    HANDLE type = store_text_type();
    ck_assert_int_ge(H5Awrite(attribute, type, &value), 0);
}
static void later_version(hid_t file) {
    set_text(file, "/", "format_version", "2.0");
}
static void other_format(hid_t file) {
    set_text(file, "/", "format", "keras\033[31m");
}
static void default_leads_nowhere(hid_t file) {
    set_text(file, "/", "default", "nowhere");
}
static void unknown_kind(hid_t file) {
    set_text(file, "/position/learned/table", "kind", "guessed");
}

static const struct {
    void (*change)(hid_t file);
    const char *sentence;
} changes[] = {
    {add_soft_link, "/extra lies behind a soft link"},
    {add_external_link, "/extra lies behind a external link"},
    {add_cycle, "groups lie more than 8 deep in groups"},
    {add_named_type, "/extra is neither a group nor a dataset"},
    {add_external_storage, "/extra keeps its bytes in another file"},
    {add_virtual, "/extra is a virtual dataset"},
    {add_bomb, "/extra declares 4.0 TiB and stores 0 bytes"},
    {add_huge_chunk, "/extra has chunks larger than 256 MiB"},
    {add_filter, "/extra is packed with filter 5"},
    {add_short_numbers, "/extra does not hold numbers of a type of this format"},
    {add_big_endian, "/extra does not hold numbers of a type of this format"},
    {add_bytes, "/extra is not a list of texts"},
    {step_goes_back, "the values of /train/step do not rise"},
    {accuracy_of_two, "a token accuracy of 2"},
    {accuracy_where_undefined, "a token accuracy where none is defined"},
    {series_grows_alone, "axis 0 of /train/loss has 9 places, its scale 3"},
    {scale_is_detached, "/train/step is not the scale of axis 0 of /train/loss"},
    {table_without_scale, "axis 1 of /position/learned/table has no dimension scale"},
    {decay_without_scale, "axis 1 of /decay/score has no dimension scale"},
    {loss_of_other_type, "/train/loss has another rank or type"},
    {later_version, "is of version 2.0 of the format"},
    {other_format, "is of the unknown format keras?[31m"},
    {default_leads_nowhere, "there is no /nowhere"},
    {unknown_kind, "/position/learned/table is of the unknown kind guessed"},
};

START_TEST(changed_files_are_refused) {
    write_result();
    hid_t file = edit();
    changes[_i].change(file);
    ck_assert_int_ge(H5Fclose(file), 0);
    assert_says(store_verify(path), changes[_i].sentence);
}
END_TEST

/* Groups that a run may lack. */
static bool is_optional(const char *name) {
    static const char *const optional[] = {"/evaluate/by_position",
                                           "/evaluate/by_position/16",
                                           "/evaluate/by_distance",
                                           "/evaluate/by_distance/16",
                                           "/position/learned",
                                           "/position/learned/frequency",
                                           "/position/learned/bias_by_distance",
                                           "/position/similarity",
                                           "/position/similarity/table",
                                           "/decay",
                                           "/decay/bound"};
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
        if (!strcmp(name, optional[i])) return true;
    return false;
}

static herr_t delete_one(hid_t root, const char *name, const H5L_info_t *info, void *counted) {
    (void)root, (void)info;
    ++*(int *)counted;
    char full[128];
    snprintf(full, sizeof full, "/%s", name);
    write_result();
    hid_t file = edit();
    ck_assert_int_ge(H5Ldelete(file, full, H5P_DEFAULT), 0);
    ck_assert_int_ge(H5Fclose(file), 0);
    const char *sentence = store_verify(path);
    ck_assert_msg(!sentence == is_optional(full), "without %s: %s", full,
                  sentence ? sentence : "nothing is missed");
    return 0;
}

START_TEST(missing_members_are_noticed) {
    ResultFile result = small_result();
    char whole[128];
    snprintf(whole, sizeof whole, "%s/whole.h5", folder);
    ck_assert_int_eq(result_write(&result, whole), 0);
    HANDLE file = H5Fopen(whole, H5F_ACC_RDONLY, H5P_DEFAULT);
    int counted = 0;
    ck_assert_int_ge(H5Lvisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, delete_one, &counted), 0);
    ck_assert_int_gt(counted, 60);
}
END_TEST

static herr_t list_attribute(hid_t object, const char *name, const H5A_info_t *info, void *list) {
    (void)object, (void)info;
    strcat(list, name);
    strcat(list, "\n");
    return 0;
}

START_TEST(missing_attributes_are_noticed) {
    static const char *const at[] = {"/", "/environment"};
    /* NX_class only helps viewers; early files have no moves; hdf5 is not in the tables. */
    const char *optional[] = {_i ? "hdf5" : "NX_class", "moves"};
    write_result();
    hid_t file = edit();
    HANDLE object = H5Oopen(file, at[_i], H5P_DEFAULT);
    char list[1024] = "", *rest;
    ck_assert_int_ge(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, list_attribute, list),
                     0);
    store_release(&object);
    H5Fclose(file);
    int counted = 0;
    for (char *name = strtok_r(list, "\n", &rest); name; name = strtok_r(NULL, "\n", &rest)) {
        counted++;
        write_result();
        file = edit();
        ck_assert_int_ge(H5Adelete_by_name(file, at[_i], name, H5P_DEFAULT), 0);
        ck_assert_int_ge(H5Fclose(file), 0);
        const char *sentence = store_verify(path);
        if (strcmp(name, optional[0]) && strcmp(name, optional[1])) assert_says(sentence, name);
    }
    ck_assert_int_ge(counted, 14);
}
END_TEST

START_TEST(damaged_files_are_refused) {
    write_result();
    size_t size;
    unsigned char *bytes = read_file(path, &size);
    const size_t cuts[] = {
        0, 1, 7, 8, 100, 2048, size / 2, size - SEAL_SIZE - 1, size - SEAL_SIZE + 1, size - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        write_file(path, bytes, cuts[i]);
        ck_assert_msg(store_verify(path) != NULL, "cut to %zu of %zu bytes", cuts[i], size);
    }
    bytes[size] = 'x';
    write_file(path, bytes, size + 1);
    ck_assert_ptr_nonnull(store_verify(path));
    write_file(path, bytes, size);
    for (size_t at = 0; at < size; at += 1 + at % 997) {
        change_byte(path, at, bytes[at] ^ 0x10);
        const char *reason;
        StoreReader *reader = store_open(path, &reason);
        ck_assert_msg(!reader, "byte %zu was changed", at);
        change_byte(path, at, bytes[at]);
    }
    ck_assert_ptr_null(store_verify(path));
    free(bytes);
}
END_TEST

/* Without the seal libhdf5 meets the damage itself: it may notice or not, and its crash is ours to
   survive. */
START_TEST(damage_without_a_seal_is_survived) {
    write_result();
    size_t size;
    unsigned char *bytes = read_file(path, &size);
    size -= SEAL_SIZE;
    write_file(path, bytes, size);
    int refused = 0;
    for (size_t at = 8 + (size_t)_i * 397; at < size; at += 1583) {
        change_byte(path, at, at % 2 ? bytes[at] ^ 0xFF : 0xFF);
        refused += store_verify(path) != NULL;
        change_byte(path, at, bytes[at]);
    }
    ck_assert_int_gt(refused, 5);
    ck_assert_ptr_null(store_verify(path));
    free(bytes);
}
END_TEST

START_TEST(things_that_are_no_file) {
    assert_says(store_verify("/nowhere/run.h5"), "No such file or directory");
    assert_says(store_verify(folder), "is not a file");
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    assert_says(store_verify(path), "is not a file");
    ck_assert_int_eq(unlink(path), 0);
    write_file(path, "{\"step\":1}\n", 11);
    assert_says(store_verify(path), "is not an HDF5 file");
}
END_TEST

static bool end_by(const void *signal, FILE *to) {
    fputs("half of the", to);
    fflush(to);
    raise(*(const int *)signal);
    return true;
}

static bool repeat(const void *word, FILE *to) {
    for (int i = 0; i < 20000; i++) fputs(word, to);
    return *(const char *)word == 'y';
}

START_TEST(a_crash_is_a_sentence) {
    char *text;
    ck_assert(!guard_run(end_by, &(int){SIGABRT}, &text));
    ck_assert_str_eq(text, "is damaged: the reader crashed");
    free(text);
    ck_assert(!guard_run(end_by, &(int){SIGKILL}, &text));
    ck_assert_str_eq(text, "could not be read: the reader was killed");
    free(text);
    ck_assert(guard_run(repeat, "yes", &text));
    ck_assert_uint_eq(strlen(text), 60000);
    free(text);
    ck_assert(!guard_run(repeat, "no", &text));
    ck_assert_uint_eq(strlen(text), 40000);
    free(text);
}
END_TEST

START_TEST(show_prints_the_result) {
    ResultFile result = small_result();
    result.name = "x\033[2J\xC3\xBC"; /* would clear the screen */
    ck_assert_int_eq(result_write(&result, path), 0);
    FILE *to = tmpfile();
    ck_assert_int_eq(show_result(path, to, &(Terminal){.utf8 = _i == 1}), EXIT_DONE);
    char text[8192];
    rewind(to);
    text[fread(text, 1, sizeof text - 1, to)] = 0;
    fclose(to);
    static const char *const lines[2][9] = {
        {"x?[2J?: copy with learned, seed -9007199254740993\n",
         "done, 288 parameters, written 2025-11-30T12:00:00Z by version 0.1.0\n",
         "30 steps, 3000 tokens in 1.5 s\n", "loss      #+.  3.5000 .. 0.1250\n",
         "    16     96.88  ############  95.00 .. 98.00       75.00  0.2500      3.12        "
         "4.00\n",
         "   128   not defined: learned has 48 positions, 128 needs 128\n", "16 #=  128\n",
         "table: position 48 x channel 32, learned, -1 .. 1, 32 of 48 rows trained\n",
         "frequency: channel 16, fixed, 0.0001778 .. 1\n         0  ###**++==--::...\n"},
        {"x?[2Jü: copy", "288", "3000", "loss      █▆▁", "███████████▋", "48 positions",
         "16 █▅  128\n", "table: position", "         0  ██▇▇▆▆▅▅▄▄▃▃▂▂▁▁\n"}};
    for (size_t i = 0; i < 9; i++)
        ck_assert_msg(strstr(text, lines[_i][i]) != NULL, "no \"%s\" in\n%s", lines[_i][i], text);
}
END_TEST

START_TEST(show_refuses_what_is_no_result) {
    Checkpoint checkpoint = small_checkpoint();
    ck_assert_int_eq(checkpoint_write(&checkpoint, path), 0);
    small_checkpoint_free(&checkpoint);
    FILE *to = tmpfile();
    ck_assert_int_eq(show_result(path, to, &(Terminal){.utf8 = false}), EXIT_FAILED);
    ck_assert_int_eq(ftell(to), 0);
    fclose(to);
}
END_TEST

/* ---- checkpoints ------------------------------------------------------------------------ */

static size_t bytes_of(const CheckpointArray *array) {
    size_t bytes = store_type_size(array->type);
    for (int axis = 0; axis < array->rank; axis++) bytes *= array->dims[axis];
    return bytes;
}

/* The same shapes with room for 9 rows and nothing in them. */
static Checkpoint empty_checkpoint(void) {
    Checkpoint checkpoint = small_checkpoint();
    for (size_t i = 0; i < checkpoint.count; i++) {
        CheckpointArray *array = &checkpoint.arrays[i];
        if (array->grows) array->dims[0] = 9;
        free(array->data);
        array->data = ALLOCATE(bytes_of(array), char);
    }
    checkpoint.step = checkpoint.log_bytes = 0;
    *checkpoint.binary_sha256 = *checkpoint.cpu = *checkpoint.isa = 0;
    return checkpoint;
}

static void write_checkpoint(void) {
    Checkpoint checkpoint = small_checkpoint();
    ck_assert_int_eq(checkpoint_write(&checkpoint, path), 0);
    small_checkpoint_free(&checkpoint);
}

START_TEST(checkpoint_comes_back) {
    write_checkpoint();
    ck_assert_ptr_null(store_verify(path));
    Checkpoint wanted = small_checkpoint(), found = empty_checkpoint();
    const char *sentence = checkpoint_read(path, &found);
    ck_assert_msg(!sentence, "%s", sentence);
    ck_assert_int_eq(found.step, 20);
    ck_assert_int_eq(found.log_bytes, 4711);
    ck_assert_str_eq(found.binary_sha256, "45cd");
    ck_assert_str_eq(found.cpu, "a cpu");
    ck_assert_str_eq(found.isa, "x86-64-v3");
    for (size_t i = 0; i < wanted.count; i++) {
        ck_assert_mem_eq(found.arrays[i].dims, wanted.arrays[i].dims, sizeof wanted.arrays[i].dims);
        ck_assert_mem_eq(found.arrays[i].data, wanted.arrays[i].data, bytes_of(&wanted.arrays[i]));
    }
    small_checkpoint_free(&found);
    small_checkpoint_free(&wanted);

    Checkpoint attributes = {.config_sha256 = ""};
    ck_assert_ptr_null(checkpoint_read(path, &attributes));
    ck_assert_int_eq(attributes.step, 20);
    ck_assert_str_eq(attributes.config_sha256, "0123ab");
}
END_TEST

static void other_config(Checkpoint *expected) {
    strcpy(expected->config_sha256, "fedc");
}
static void other_shape(Checkpoint *expected) {
    expected->arrays[0].dims[0] = 7;
}
static void other_type(Checkpoint *expected) {
    expected->arrays[1].type = STORE_REAL == STORE_FLOAT32 ? STORE_FLOAT64 : STORE_FLOAT32;
}
static void other_name(Checkpoint *expected) {
    expected->arrays[5].name = "moment2/bias";
}
static void too_little_room(Checkpoint *expected) {
    expected->arrays[6].dims[0] = 4;
}
static void fewer_arrays(Checkpoint *expected) {
    free(expected->arrays[--expected->count].data);
}

static const struct {
    void (*change)(Checkpoint *expected);
    const char *sentence;
} mismatches[] = {
    {other_config, "belongs to another config (0123ab and not fedc)"},
    {other_shape, "/parameters/embedding has the shape [8, 32] and not [7, 32]"},
    {other_type, "/parameters/layer0/norm has another type"},
    {other_name, "there is no /moment2/bias"},
    {too_little_room, "/train/step has more rows than the config allows"},
    {fewer_arrays, "holds 10 arrays, the config implies 9"},
};

START_TEST(checkpoint_of_another_run_is_refused) {
    write_checkpoint();
    Checkpoint expected = empty_checkpoint();
    mismatches[_i].change(&expected);
    assert_says(checkpoint_read(path, &expected), mismatches[_i].sentence);
    small_checkpoint_free(&expected);
}
END_TEST

/* `make faults` looks at every byte. */
static size_t next_byte(size_t at) {
    return at + (getenv("EVERY_BYTE") || at < 4096 ? 4 : 52);
}

START_TEST(any_changed_byte_of_a_checkpoint_is_noticed) {
    write_checkpoint();
    size_t size;
    unsigned char *bytes = read_file(path, &size);
    Checkpoint found = empty_checkpoint();
    for (size_t at = (size_t)_i; at < size; at = next_byte(at)) {
        change_byte(path, at, bytes[at] ^ (unsigned char)(1 << at / 4 % 8));
        ck_assert_msg(checkpoint_read(path, &found) != NULL, "byte %zu was changed", at);
        change_byte(path, at, bytes[at]);
    }
    ck_assert_ptr_null(checkpoint_read(path, &found));
    /* Cut to any length, from the longest on. */
    for (size_t at = (size_t)_i; at < size; at = next_byte(at)) {
        ck_assert_int_eq(truncate(path, (off_t)(size - 1 - at)), 0);
        ck_assert_msg(checkpoint_read(path, &found) != NULL, "cut to %zu bytes", size - 1 - at);
    }
    write_file(path, bytes, size);
    ck_assert_ptr_null(store_verify(path));
    /* Whole as HDF5, yet not as it was written. */
    write_file(path, bytes, size - SEAL_SIZE);
    assert_says(checkpoint_read(path, &found), "has no seal");
    assert_says(store_verify(path), "has no seal");
    small_checkpoint_free(&found);
    free(bytes);
}
END_TEST

START_TEST(checkpoint_without_its_twin_is_malformed) {
    Checkpoint checkpoint = small_checkpoint();
    checkpoint.arrays[3].dims[0]--;
    ck_assert_int_eq(checkpoint_write(&checkpoint, path), 0);
    assert_says(store_verify(path), "/parameters/layer0/norm and /moment1/layer0/norm differ");
    checkpoint.arrays[3].name = "moment1/layer0/other";
    ck_assert_int_eq(checkpoint_write(&checkpoint, path), 0);
    assert_says(store_verify(path), "there is no /moment1/layer0/norm");
    small_checkpoint_free(&checkpoint);
    /* Nor is a result a checkpoint. */
    write_result();
    Checkpoint found = empty_checkpoint();
    assert_says(checkpoint_read(path, &found), "is posenc-run 1.0 and not posenc-checkpoint 1.0");
    small_checkpoint_free(&found);
}
END_TEST

/* ------------------------------------------------------------------------------------------ */

static TCase *add_case(Suite *suite, const char *name) {
    TCase *tests = tcase_create(name);
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    suite_add_tcase(suite, tests);
    return tests;
}

Suite *suite_store(void);
Suite *suite_store(void) {
    Suite *suite = suite_create("store");
    TCase *arrays = add_case(suite, "arrays");
    tcase_add_loop_test(arrays, arrays_come_back, 0, TYPES * SHAPES);
    tcase_add_test(arrays, arrays_on_disk);
    tcase_add_test(arrays, numbers_convert_where_nothing_is_lost);
    tcase_add_test(arrays, names_and_order);
    tcase_add_test(arrays, texts_and_attributes);
    tcase_add_test(arrays, scales);

    TCase *publish = add_case(suite, "publish");
    tcase_add_test(publish, equal_content_gives_equal_bytes);
    tcase_add_test(publish, seal_is_the_hash_of_the_rest);
    tcase_add_test(publish, full_disk_keeps_the_old_file);
    tcase_add_test(publish, full_disk_keeps_the_old_result);
    tcase_add_test(publish, unwritable_folder_keeps_the_old_file);
    tcase_add_test(publish, places_that_are_no_place);
    tcase_add_test(publish, leftovers_are_replaced);

    TCase *result = add_case(suite, "result");
    tcase_add_test(result, result_is_well_formed);
    tcase_add_test(result, result_before_the_first_evaluation);
    tcase_add_test(result, result_holds_what_was_given);
    tcase_add_loop_test(result, changed_files_are_refused, 0, sizeof changes / sizeof *changes);
    tcase_add_test(result, missing_members_are_noticed);
    tcase_add_loop_test(result, missing_attributes_are_noticed, 0, 2);
    tcase_add_test(result, damaged_files_are_refused);
    tcase_add_loop_test(result, damage_without_a_seal_is_survived, 0, 4);
    tcase_add_test(result, things_that_are_no_file);
    tcase_add_test(result, a_crash_is_a_sentence);
    tcase_add_loop_test(result, show_prints_the_result, 0, 2);
    tcase_add_test(result, show_refuses_what_is_no_result);

    TCase *checkpoint = add_case(suite, "checkpoint");
    tcase_add_test(checkpoint, checkpoint_comes_back);
    tcase_add_loop_test(checkpoint, checkpoint_of_another_run_is_refused, 0,
                        sizeof mismatches / sizeof *mismatches);
    tcase_add_loop_test(checkpoint, any_changed_byte_of_a_checkpoint_is_noticed, 0, 4);
    tcase_add_test(checkpoint, checkpoint_without_its_twin_is_malformed);
    return suite;
}
