/* internal: what the files of src/store share. Includes HDF5; nothing outside this folder includes
   it. The macro keeps the calls of HDF5 1.10 under their names in every later release. */
#ifndef SRC_STORE_INTERNAL_H
#define SRC_STORE_INTERNAL_H

#ifndef H5_USE_110_API
#define H5_USE_110_API
#endif
#include <hdf5.h>
#include <hdf5_hl.h>

#include "src/base.h"
#include "src/store/store.h"

/* An HDF5 identifier of any kind that is released at the end of its block. */
void store_release(hid_t *id);
#define HANDLE __attribute__((cleanup(store_release))) hid_t

/* The value of an HDF5 call that cannot fail on a file in memory; dies with EXIT_INTERNAL. */
int64_t store_must(int64_t value, const char *call);
#define MUST(call) store_must((call), #call)

/* What libhdf5 says about its last failure: the innermost entry of its error stack. */
const char *store_library_error(char text[256]);

/* New copies of the types: on disk little-endian, in memory the machine's own; booleans are the
   enumeration FALSE, TRUE over 8 bits, as h5py writes them. */
hid_t store_file_type(StoreType type);
hid_t store_memory_type(StoreType type);
hid_t store_text_type(void); /* variable-length UTF-8, both on disk and in memory */
size_t store_type_size(StoreType type);

/* The access list and the name of a file in memory. libhdf5 takes two of one name for one file, and
   looks on the disk first; below a device there can be none. */
hid_t store_memory_access(void);
const char *store_memory_name(char name[64]);

/* The bytes of the finished file, followed by `room` zero bytes; free() releases them. */
void *store_image(StoreWriter *writer, size_t room, size_t *size);

/* The seal: a published HDF5 file ends with these bytes behind the part that libhdf5 knows, the
   SHA-256 of everything before them. Any changed or missing byte shows; HDF5 readers do not see
   them, and a tool that writes to the file cuts them off. */
enum { SEAL_SIZE = 8 + 64 + 1 };
#define SEAL_MARK "\nsha256 "
void store_seal(const void *bytes, size_t size, char seal[SEAL_SIZE + 1]);

struct StoreReader {
    hid_t file;  /* in memory: libhdf5 never reads the disk */
    size_t size; /* of the HDF5 part, without the seal */
    bool sealed;
    char reason[512];
};

/* A reader of a copy of these bytes. NULL with a reason. */
StoreReader *store_open_bytes(void *bytes, size_t size, const char **reason);

/* Sets the reason, control characters replaced; gives false. */
bool store_refuse(StoreReader *reader, const char *format, ...) PRINTF_LIKE(2, 3);

/* A group or dataset, reached component by component over hard links; -1 with a reason. */
hid_t store_open_object(StoreReader *reader, const char *path);
/* A dataset whose bytes lie in this file, in a layout and filters that libhdf5 brings along, and
   which declares no more than they can hold. */
hid_t store_open_dataset(StoreReader *reader, const char *path);

/* The type on disk, or false when it is none of StoreType. */
bool store_type_of(hid_t type, StoreType *found);

#endif
