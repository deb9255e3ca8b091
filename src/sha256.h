/* sha256: the hash that names a run and guards what is written about it (FIPS 180-4). */
#ifndef SRC_SHA256_H
#define SRC_SHA256_H

#include <stdbool.h>
#include <stddef.h>

/* 64 hexadecimal digits of the SHA-256 of the bytes, in a buffer of the caller. */
const char *sha256_text(const void *bytes, size_t size, char text[65]);

/* The same of a file; false with errno. */
bool sha256_file(const char *path, char text[65]);

#endif
