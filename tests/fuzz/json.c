/* The config of a result file: its resolved values as JSON and, behind a zero, the Lua text that it
   was made from. */
#include <stdlib.h>
#include <string.h>

#include "src/lua/flatten.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    char *json = fuzz_text(bytes, size);
    const size_t length = strlen(json);
    const char *lua = length < size ? json + length + 1 : NULL;
    FlatKeys keys;
    free(flatten(json, &keys));
    flatten_free(&keys);

    Config config;
    Mistakes mistakes;
    const bool good = config_load_json(json, lua, "x.h5", 0, NULL, &config, &mistakes);
    fuzz_check(good, &mistakes);
    if (good) config_free(&config);
    free(json);
    return 0;
}
