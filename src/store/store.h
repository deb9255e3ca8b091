/* store: plain arrays ↔ HDF5 files. The only folder that includes HDF5.
 *
 * A file is built in memory (core driver, low bound EARLIEST), its image is opened again, and then
 * published: write → fsync → close → rename → fsync of the folder. A reader never sees half a
 * file, and a failing write loses nothing that was there. Behind the HDF5 part stands a seal, the
 * SHA-256 of all bytes before it: a changed or missing byte anywhere is noticed at opening. Tools
 * that write to the file cut the seal off; it is then as good as any HDF5 file. */
#ifndef SRC_STORE_STORE_H
#define SRC_STORE_STORE_H

#include "src/base.h"

#define STORE_RUN_FORMAT        "posenc-run"
#define STORE_CHECKPOINT_FORMAT "posenc-checkpoint"
#define STORE_SUMMARY_FORMAT    "posenc-summary"
#define STORE_FORMAT_VERSION    "1.0"

typedef enum { STORE_FLOAT32, STORE_FLOAT64, STORE_INT32, STORE_INT64, STORE_BOOLEAN } StoreType;
enum { STORE_RANK = 5 };
#define STORE_REAL (sizeof(real) == sizeof(float) ? STORE_FLOAT32 : STORE_FLOAT64)

/* ---- writing -------------------------------------------------------------------------- */

typedef struct StoreWriter StoreWriter;

/* A new file in memory. Dies with EXIT_INTERNAL when libhdf5 refuses. */
StoreWriter *store_create(void);

/* Groups are made on the way: path is absolute, "/train/loss". Attributes belong to the group or
   dataset at `path` ("/" for the root). */
void store_group(StoreWriter *writer, const char *path);
void store_attribute_text(StoreWriter *writer, const char *path, const char *name,
                          const char *value);
void store_attribute_texts(StoreWriter *writer, const char *path, const char *name, size_t count,
                           const char *const *values);
void store_attribute_number(StoreWriter *writer, const char *path, const char *name, double value);
void store_attribute_integer(StoreWriter *writer, const char *path, const char *name,
                             int64_t value);
void store_attribute_boolean(StoreWriter *writer, const char *path, const char *name, bool value);

/* A scalar or one-dimensional dataset of UTF-8 texts. */
void store_text(StoreWriter *writer, const char *path, const char *value);
void store_texts(StoreWriter *writer, const char *path, size_t count, const char *const *values);

/* An array: little-endian IEEE on disk, shuffle + deflate + fletcher32 where chunked. `data` is in
   the machine's own form of `type` (booleans: uint8_t). With unlimited, axis 0 may grow in place
   by other tools. */
void store_array(StoreWriter *writer, const char *path, StoreType type, int rank,
                 const size_t *dims, const void *data, bool unlimited);

/* Makes the one-dimensional dataset `scale` a dimension scale of that name, and attaches it to
   axis `axis` of `path` (label included). */
void store_scale(StoreWriter *writer, const char *path, int axis, const char *scale);

/* Publishes the file and releases the writer. Returns 0, or an errno with the old file intact and
   no temporary file left; only when the last step failed, the fsync of the folder, the new file is
   in place and may not survive a power failure. The temporary is `path` with ".tmp" behind it:
   callers hold the run's lock. */
int store_publish(StoreWriter *writer, const char *path);
void store_discard(StoreWriter *writer);

/* The same protocol for plain bytes. */
int store_publish_bytes(const void *bytes, size_t size, const char *path);

/* Waits until the name `path` is on the disk, in the folder that it is in. 0 or an errno. */
int store_sync_folder(const char *path);

/* ---- reading: every file is foreign ---------------------------------------------------- */

typedef struct StoreReader StoreReader;

/* Opens read-only: hard links only, no external storage, no virtual datasets, no filters but those
   of this format. NULL with a sentence in *reason (valid until the next call) when it is no such
   file. Sentences stand behind the file's name and a colon. */
StoreReader *store_open(const char *path, const char **reason);
void store_close(StoreReader *reader);

bool store_exists(StoreReader *reader, const char *path);
/* Members of a group by creation order, -1: no such group. Released by store_free_names. */
int store_members(StoreReader *reader, const char *path, char ***names);
void store_free_names(char **names, int count);
/* Rank and dims, -1 when there is no array of numbers at path. */
int store_shape(StoreReader *reader, const char *path, StoreType *type, size_t dims[STORE_RANK]);
/* Is it an array of numbers of that shape? */
bool store_has_shape(StoreReader *reader, const char *path, int rank, const size_t *dims);
/* Converts to `type` and fills data, whose shape the caller states: it must be the file's. */
bool store_read(StoreReader *reader, const char *path, StoreType type, int rank, const size_t *dims,
                void *data);
/* The numbers of a one-dimensional array (free), or NULL. */
double *store_read_column(StoreReader *reader, const char *path, size_t *count);
/* Texts of a one-dimensional dataset, -1: there are none. Released by store_free_names. */
int store_read_texts(StoreReader *reader, const char *path, char ***texts);
/* Fresh memory (free), or NULL. */
char *store_read_text(StoreReader *reader, const char *path);
char *store_read_attribute_text(StoreReader *reader, const char *path, const char *name);
/* Of any type of number; booleans are 0 and 1. */
bool store_read_attribute_number(StoreReader *reader, const char *path, const char *name,
                                 double *value);
bool store_read_attribute_integer(StoreReader *reader, const char *path, const char *name,
                                  int64_t *value);
bool store_read_attribute_boolean(StoreReader *reader, const char *path, const char *name,
                                  bool *value);
/* Is the format of a version that this program reads? A later minor version only adds. */
bool store_known_version(StoreReader *reader);
/* Why the last call on this reader said no; one sentence. */
const char *store_reason(const StoreReader *reader);

/* Is it a whole, well-formed file of this format? NULL, or one sentence (valid until the next
   call). Reads everything in a child, so that a crash of libhdf5 is a sentence too: call it before
   the first OpenMP region (guard.h). */
const char *store_verify(const char *path);

/* Call once, first of all HDF5 uses: no exit handler, no error stacks on stderr, no plugins. */
void store_start(void);

/* Versions, for --version and /environment. */
const char *store_library_version(void);

#endif
