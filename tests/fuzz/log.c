/* A log that a run goes on with: two bytes say how much of it a checkpoint counted on, the others
   are the file. Whatever they are, the log then is the whole lines among them, and the lines that
   are written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base.h"
#include "src/events.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    if (size < 2) return 0;
    const size_t wanted = bytes[0] | (size_t)bytes[1] << 8;
    bytes += 2;
    size -= 2;
    const char *path = fuzz_file(bytes, size);
    Events events;
    CHECK(!events_open(&events, path, (int64_t)wanted, false), "the log cannot be opened");
    const size_t kept = (size_t)events.length;
    const size_t most_kept = least(wanted, size);
    CHECK(kept <= most_kept, "%zu of %zu bytes are kept", kept, most_kept);
    CHECK(!kept || bytes[kept - 1] == '\n', "cut within a line");
    CHECK(!memchr(bytes + kept, '\n', most_kept - kept), "a whole line is lost");
    const EventStep row = {.step = 7, .loss = 0.5};
    CHECK(!events_step(&events, &row), "a line cannot be written");
    const size_t whole = (size_t)events.length;
    CHECK(!events_close(&events), "the log cannot be closed");

    char *text = ALLOCATE(whole + 1, char);
    FILE *file = fopen(path, "rb");
    CHECK(file && fread(text, 1, whole + 1, file) == whole, "not %zu bytes", whole);
    fclose(file);
    CHECK(!memcmp(text, bytes, kept), "what was kept has changed");
    CHECK(!strncmp(text + kept, "{\"event\":\"step\",\"step\":7,", 25) && text[whole - 1] == '\n',
          "the line is not the last");
    free(text);
    return 0;
}
