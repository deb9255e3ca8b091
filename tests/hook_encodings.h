/* Encodings that exist for tests alone: small, with formulas that a test can repeat in a line, so
   that every hook of encodings/encoding.h that bends attention is compared with plain loops,
   whatever is in the registry. */
#ifndef TESTS_HOOK_ENCODINGS_H
#define TESTS_HOOK_ENCODINGS_H

#include "encodings/encoding.h"
#include "src/model/model.h"

/* bias: amplitude[head] * cos(rate[head] * distance); amplitude is shared by the layers. */
extern const Encoding encoding_cosine;

/* window: hook_windows[head % 3] keys, itself included. */
extern const Encoding encoding_window;
extern const size_t hook_windows[3];

/* With n = distance rounded, from -HOOK_REACH to HOOK_REACH, row n + HOOK_REACH of a table:
   rotate   q' = [q, turn[head] sin(m / 3)], k' = [k, k_0 cos(m / 3)], scale HOOK_SCALE
   score    += scale q' · 2 keys[n]     (open, row scratch)
   value    o += p * values[n] / 2
   through prepare, which makes 2 keys and values / 2. */
enum { HOOK_REACH = 3, HOOK_ROWS = 2 * HOOK_REACH + 1 };
#define HOOK_SCALE 0.4
extern const Encoding encoding_rows;
size_t hook_row(double distance);

/* score: += HOOK_STEP for every visible key behind it: a carry from tile to tile. */
#define HOOK_STEP 0.01
extern const Encoding encoding_count_behind;

/* The worked example of docs/adding-an-encoding.md (example_encoding.c). */
extern const Encoding encoding_distance_table;

/* Encodings of the registry under other names: a small model that has one is a model of linear
   attention: every one that acts at the embedding or rotates, with each feature map and, where it
   rotates, each order. */
size_t linear_encodings(void); /* how many */
const Encoding *linear_encoding(size_t index);
const LinearOptions *tested_linear(const Encoding *encoding); /* NULL: softmax */

/* The registry, then the five above, then some of linear attention. */
size_t tested_encodings(void); /* how many */
const Encoding *tested_encoding(size_t index);
/* One of all of these by its name, or NULL. */
const Encoding *tested_find(const char *name);

#endif
