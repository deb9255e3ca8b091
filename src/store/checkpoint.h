/* checkpoint: everything that decides the next step, and all rows measured so far.

   A checkpoint is one list of named arrays and a few attributes. Names are paths; the group says
   what the array is: "parameters/<name>", "moment1/<name>" and "moment2/<name>" (with the same
   names and shapes), and what else the run needs ("train/loss", "update_count/table", …).

   The file is sealed: its last line is the SHA-256 of all bytes before it, so a changed, missing
   or added byte anywhere in it is noticed before libhdf5 sees any. store_verify checks what needs
   no shapes. */
#ifndef SRC_STORE_CHECKPOINT_H
#define SRC_STORE_CHECKPOINT_H

#include "src/store/store.h"

typedef struct {
    const char *name; /* "parameters/embedding" */
    StoreType type;
    int rank;
    size_t dims[STORE_RANK];
    void *data;
    /* dims[0] counts rows that become more while the run goes on. Reading, it is the room, which
       the config implies, and becomes the rows found: a file never decides about memory. */
    bool grows;
} CheckpointArray;

typedef struct {
    int64_t step;           /* steps done */
    int64_t log_bytes;      /* of events.jsonl at this step */
    int64_t moves;          /* how often the run went on with another build or on another CPU */
    char config_sha256[65]; /* when reading: the one that is expected, or "" for any */
    char binary_sha256[65];
    char cpu[128], isa[32];
    size_t count;
    CheckpointArray *arrays;
} Checkpoint;

/* Returns 0, or an errno with an older file of that name intact. */
int checkpoint_write(const Checkpoint *checkpoint, const char *path);

/* Fills the attributes and the data of all arrays, whose names and shapes the caller states; the
   file has exactly these. With arrays NULL only the attributes: the shapes of a model that grew
   depend on the step. NULL, or one sentence (valid until the next call), after which the data may
   be partly filled. */
const char *checkpoint_read(const char *path, Checkpoint *expected);

#endif
