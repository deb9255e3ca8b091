/* A config or study, as its file. */
#include <string.h>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    const char *path = fuzz_file(bytes, size);
    Mistakes mistakes;
    if (size && memmem(bytes, size, "study", 5)) {
        Study study;
        const bool good = study_load(path, 0, 0, NULL, &study, &mistakes);
        fuzz_check(good, &mistakes);
        if (good) study_free(&study);
    } else {
        Config config;
        const bool good = config_load(path, 0, NULL, &config, &mistakes);
        fuzz_check(good, &mistakes);
        if (good) config_free(&config);
    }
    return 0;
}
