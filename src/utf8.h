/* utf8: one character at a time, for JSON and for columns on a terminal. */
#ifndef SRC_UTF8_H
#define SRC_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the character at text (NUL-terminated, not at its end) into *code and returns its bytes.
   A byte that starts no well-formed character (overlong, surrogate, cut off) gives U+FFFD and 1. */
size_t utf8_decode(const char *text, uint32_t *code);

/* Puts ? in place of what no terminal should get from a file: control characters, which could move
   the cursor or worse, stray bytes, and (ascii) everything that is not ASCII. Gives text. */
char *utf8_clean(char *text, bool ascii);

/* Columns that the text takes on a terminal: 0 for combining marks, 2 for East Asian wide
   characters and emoji, 1 for others. */
size_t utf8_width(const char *text);

#endif
