/* library: libhdf5 itself. Its start, its errors and the types of the format. */
#include "src/store/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void store_start(void) {
    /* Its exit handler crashes after a failed write; readers of files in memory need no locks. */
    H5dont_atexit();
    MUST(H5open());
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    /* No code from the folders that HDF5_PLUGIN_PATH names. */
    H5PLset_loading_state(0);
}

const char *store_library_version(void) {
    static char text[32];
    unsigned major, minor, release;
    H5get_libversion(&major, &minor, &release);
    snprintf(text, sizeof text, "%u.%u.%u", major, minor, release);
    return text;
}

void store_release(hid_t *id) {
    if (*id >= 0) H5Idec_ref(*id);
    *id = -1;
}

static herr_t first_error(unsigned n, const H5E_error2_t *error, void *text) {
    if (n == 0 && error->desc) snprintf(text, 256, "%s", error->desc);
    return 0;
}

const char *store_library_error(char text[256]) {
    snprintf(text, 256, "no reason given");
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first_error, text);
    return text;
}

int64_t store_must(int64_t value, const char *call) {
    if (value < 0) {
        char text[256];
        store_library_error(text);
        die(EXIT_INTERNAL, "libhdf5 %s refuses %s: %s", store_library_version(), call, text);
    }
    return value;
}

static hid_t boolean_type(hid_t base) {
    hid_t type = MUST(H5Tenum_create(base));
    for (int8_t value = 0; value <= 1; value++)
        MUST(H5Tenum_insert(type, value ? "TRUE" : "FALSE", &value));
    return type;
}

hid_t store_file_type(StoreType type) {
    switch (type) {
    case STORE_FLOAT32: return MUST(H5Tcopy(H5T_IEEE_F32LE));
    case STORE_FLOAT64: return MUST(H5Tcopy(H5T_IEEE_F64LE));
    case STORE_INT32: return MUST(H5Tcopy(H5T_STD_I32LE));
    case STORE_INT64: return MUST(H5Tcopy(H5T_STD_I64LE));
    case STORE_BOOLEAN: return boolean_type(H5T_STD_I8LE);
    }
    CHECK(false, "there is no StoreType %d", (int)type);
}

hid_t store_memory_type(StoreType type) {
    switch (type) {
    case STORE_FLOAT32: return MUST(H5Tcopy(H5T_NATIVE_FLOAT));
    case STORE_FLOAT64: return MUST(H5Tcopy(H5T_NATIVE_DOUBLE));
    case STORE_INT32: return MUST(H5Tcopy(H5T_NATIVE_INT32));
    case STORE_INT64: return MUST(H5Tcopy(H5T_NATIVE_INT64));
    case STORE_BOOLEAN: return boolean_type(H5T_NATIVE_INT8);
    }
    CHECK(false, "there is no StoreType %d", (int)type);
}

size_t store_type_size(StoreType type) {
    static const size_t sizes[] = {4, 8, 4, 8, 1};
    return sizes[type];
}

bool store_type_of(hid_t type, StoreType *found) {
    for (StoreType t = STORE_FLOAT32; t <= STORE_BOOLEAN; t++) {
        HANDLE known = store_file_type(t);
        if (H5Tequal(type, known) > 0) {
            *found = t;
            return true;
        }
    }
    return false;
}

hid_t store_text_type(void) {
    hid_t type = MUST(H5Tcopy(H5T_C_S1));
    MUST(H5Tset_size(type, H5T_VARIABLE));
    MUST(H5Tset_cset(type, H5T_CSET_UTF8));
    return type;
}

hid_t store_memory_access(void) {
    hid_t access = MUST(H5Pcreate(H5P_FILE_ACCESS));
    MUST(H5Pset_fapl_core(access, 1 << 20, 0));
    return access;
}

const char *store_memory_name(char name[64]) {
    static unsigned long opened;
    snprintf(name, 64, "/dev/null/%lu", ++opened);
    return name;
}
