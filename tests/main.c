/* Runs every suite (or those named on the command line) and ends with Check's summary line. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUITE(name) Suite *suite_##name(void);
#include "tests/suites.h"
#undef SUITE

static const struct {
    const char *name;
    Suite *(*make)(void);
} suites[] = {
#define SUITE(name) {#name, suite_##name},
#include "tests/suites.h"
#undef SUITE
};

int main(int argc, char **argv) {
    /* Check's default of 4 s is meant for toys; sanitizer builds are ten times slower. */
    setenv("CK_DEFAULT_TIMEOUT", "300", 0);
    SRunner *runner = srunner_create(NULL);
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++) {
        int wanted = argc < 2;
        for (int a = 1; a < argc; a++) wanted |= !strcmp(argv[a], suites[i].name);
        if (wanted) srunner_add_suite(runner, suites[i].make());
    }
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
