/* examples: a batch of examples of one length as flat arrays, and the same as a person reads it.
   Example i of a batch comes from the stream (seed, purpose, step, first_item + i): it does not
   depend on how the items are cut into batches. */
#ifndef SRC_EXAMPLES_H
#define SRC_EXAMPLES_H

#include "tasks/task.h"

#include <stdio.h>

typedef struct {
    size_t items, length; /* of the batch that was filled last */
    size_t room;          /* tokens that the arrays hold */
    int32_t *tokens;      /* [items, length], like the arrays below: see Example in tasks/task.h */
    int32_t *targets;
    uint8_t *scored;
    int32_t *distance;
} Examples;

Examples examples_new(size_t room);
void examples_free(Examples *examples);

/* Overwrites the batch. items * length <= room; the task does not refuse the length. NULL, or one
   sentence that names the example that a function of the config could not make. */
const char *examples_fill(const Task *task, const void *options, int64_t seed, RngPurpose purpose,
                   uint64_t step, size_t first_item, size_t items, size_t length, Examples *out);

/* What `data` prints: the task, then every example of the batch with its input, the expected
   answers and where they come from, in lines of at most 100 columns. Rows of a long context that
   are like their neighbours are left out, and counted. */
void examples_print(FILE *to, const Task *task, const void *options, const Examples *examples);

#endif
