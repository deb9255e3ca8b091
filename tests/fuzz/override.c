/* Overrides of a small config, a line each; behind a first line "sweep" as those of a sweep. */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

enum { MOST = 300 };

static const char config_text[] =
    "return { task = { 'recall', pairs = 4 }, model = { encoding = 'rope' },\n"
    "train = { stages = { { steps = 5, length = 32, pairs = 2 }, { steps = 5, length = 64 } } } }";

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    char *text = fuzz_text(bytes, size), *rest = text;
    const char *path = fuzz_file(config_text, sizeof config_text - 1), *list[MOST];
    const bool sweep = !strncmp(text, "sweep\n", 6);
    int count = 0;
    if (sweep) rest += 6;
    while (count < MOST && (list[count] = strsep(&rest, "\n"))) count++;
    Mistakes mistakes;
    if (sweep) {
        Study study;
        const bool good = study_load(path, 0, count, list, &study, &mistakes);
        fuzz_check(good, &mistakes);
        if (good) study_free(&study);
    } else {
        Config config;
        const bool good = config_load(path, count, list, &config, &mistakes);
        fuzz_check(good, &mistakes);
        if (good) config_free(&config);
    }
    free(text);
    return 0;
}
