/* fuzz: what the targets of `make fuzz` share. Each is one function that takes any bytes; libFuzzer
   calls it with bytes that lead to code that no bytes before have led to. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "src/lua/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* A file of the process, in memory where there is /dev/shm, with these bytes. */
const char *fuzz_file(const void *bytes, size_t size);

/* The bytes as a text that ends at their first zero; free() releases it. */
char *fuzz_text(const uint8_t *bytes, size_t size);

/* Dies unless what was read is either good, or refused with whole lines that a terminal can take;
   frees the lines. */
void fuzz_check(bool good, Mistakes *mistakes);

#endif
