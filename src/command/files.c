/* ./harness show, verify: files that are there. docs: pages that the program's tables make. */
#include "src/command/command.h"

#include "src/lua/config.h"
#include "src/show.h"
#include "src/store/store.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int command_show(const Command *command) {
    if (!command->word_count) command_usage("show: expected a result file");
    const Terminal terminal = terminal_look(STDOUT_FILENO, command->color);
    int code = EXIT_DONE;
    for (int i = 0; i < command->word_count; i++) {
        if (i) putchar('\n');
        const int shown = show_result(command->words[i], stdout, &terminal);
        if (shown) code = shown;
    }
    return code;
}

int command_verify(const Command *command) {
    if (!command->word_count) command_usage("verify: expected a file");
    int code = EXIT_DONE;
    for (int i = 0; i < command->word_count; i++) {
        const char *reason = store_verify(command->words[i]);
        if (reason) code = EXIT_FAILED;
        fprintf(reason ? stderr : stdout, "%s: %s\n", command->words[i], reason ? reason : "whole");
    }
    return code;
}

int command_docs(const Command *command) {
    const char *what = command->word_count == 1 ? command->words[0] : "";
    if (!strcmp(what, "config")) config_write_markdown(stdout);
    else if (!strcmp(what, "annotations")) config_write_annotations(stdout);
    else command_usage("docs: expected config or annotations");
    return EXIT_DONE;
}
