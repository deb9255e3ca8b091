/* small_result: a result as a run of two encodings' worth of tables would give it, for tests of the
   files: learned position tables with snapshots, undefined lengths, empty bins. */
#ifndef TESTS_SMALL_RESULT_H
#define TESTS_SMALL_RESULT_H

#include "src/store/checkpoint.h"
#include "src/store/result.h"

/* The same values at every call; nothing needs releasing. */
ResultFile small_result(void);

/* Three arrays of each group and rows that grow; fresh memory at every call. */
Checkpoint small_checkpoint(void);
void small_checkpoint_free(Checkpoint *checkpoint);

#endif
