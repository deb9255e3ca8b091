/* utf8: one character at a time, for JSON and for columns on a terminal. */
#ifndef SRC_UTF8_H
#define SRC_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Decodes the character at text (NUL-terminated, not at its end) into *code and returns its bytes.
   A byte that starts no well-formed character (overlong, surrogate, cut off) gives U+FFFD and 1. */
size_t utf8_decode(const char *text, uint32_t *code);

/* Columns that the text takes on a terminal: 0 for combining marks, 2 for East Asian wide
   characters and emoji, 1 for others. */
size_t utf8_width(const char *text);

#endif
