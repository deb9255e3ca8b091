/* ./harness selftest: does this build compute what every encoding is defined to be? */
#include "src/command/command.h"

#include "src/selftest.h"

#include <stdio.h>

int command_selftest(const Command *command) {
    if (command->word_count || command->override_count)
        command_usage("selftest: it has no arguments");
    int cases = 0, failed = 0;
    for (size_t i = 0; i < encoding_count; i++) {
        const Selftest test = selftest_encoding(encodings[i]);
        cases += test.cases;
        failed += test.failed;
        printf("%-16s %3d cases  ", encodings[i]->name, test.cases);
        if (test.failed) printf("%d FAILED, first: %s\n", test.failed, test.first);
        else printf("ok\n");
    }
    printf("%d passed, %d failed\n", cases - failed, failed);
    return failed ? EXIT_FAILED : EXIT_DONE;
}
