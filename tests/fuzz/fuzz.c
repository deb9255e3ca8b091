#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base.h"
#include "src/utf8.h"

static char path[64];

static void remove_file(void) {
    unlink(path);
}

const char *fuzz_file(const void *bytes, size_t size) {
    if (!*path) {
        snprintf(path, sizeof path, "%s/fuzz-%ld", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm",
                 (long)getpid());
        atexit(remove_file);
    }
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(bytes, 1, size, file) == size && !fclose(file), "%s", path);
    return path;
}

char *fuzz_text(const uint8_t *bytes, size_t size) {
    char *text = ALLOCATE(size + 1, char);
    if (size) memcpy(text, bytes, size);
    return text;
}

void fuzz_check(bool good, Mistakes *mistakes) {
    CHECK(good == !mistakes->count && good == !mistakes->text, "%d mistakes", mistakes->count);
    if (good) return;
    char *copy = copy_text(mistakes->text), *rest = copy, *line;
    while ((line = strsep(&rest, "\n")) && rest) {
        char *clean = copy_text(line);
        CHECK(*line && !strcmp(line, utf8_clean(clean, false)), "mistake: %s", line);
        free(clean);
    }
    CHECK(!*line, "a line without an end: %s", line);
    free(copy);
    free(mistakes->text);
}
