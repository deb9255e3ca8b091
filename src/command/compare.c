/* ./harness compare: results that are there, in groups over their seeds. */
#include "src/command/command.h"

#include "src/compare_text.h"
#include "src/summary.h"
#include "src/utf8.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH = 8 };

typedef struct {
    size_t count, room;
    char **list;
} Paths;

static void add_path(Paths *paths, char *path) {
    if (paths->count == paths->room) {
        paths->room = most(64, 2 * paths->room);
        char **longer = ALLOCATE(paths->room, char *);
        if (paths->count) memcpy(longer, paths->list, paths->count * sizeof *longer);
        free(paths->list);
        paths->list = longer;
    }
    paths->list[paths->count++] = path;
}

/* Every run.h5 below the folder, in the order of names; links to folders are not followed. */
static void find_results(Paths *paths, const char *folder, int depth) {
    struct dirent **entries;
    const int count = scandir(folder, &entries, NULL, alphasort);
    if (count < 0) command_usage("%s: %s", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        char *path = format_text("%s/%s", folder, entries[i]->d_name);
        struct stat status;
        const bool known = *entries[i]->d_name != '.' && !lstat(path, &status);
        if (known && S_ISREG(status.st_mode) && !strcmp(entries[i]->d_name, "run.h5"))
            add_path(paths, copy_text(path));
        if (known && S_ISDIR(status.st_mode) && depth < DEPTH) find_results(paths, path, depth + 1);
        free(path);
        free(entries[i]);
    }
    free(entries);
}

static bool is_folder(const char *path) {
    struct stat status;
    return !stat(path, &status) && S_ISDIR(status.st_mode);
}

static Paths results_of(const Command *command) {
    Paths paths = {0};
    for (int i = 0; i < command->word_count; i++) {
        const char *word = command->words[i];
        const size_t before = paths.count;
        if (is_folder(word))
            find_results(&paths, word, 0);
        else
            add_path(&paths, copy_text(word));
        if (paths.count == before) command_usage("%s: no run.h5 in it or below", word);
    }
    return paths;
}

/* The summary of the one folder that was named, whose claims are decided again. False, with a
   sentence on stderr, when there is one that cannot be read. */
static bool find_summary(const Command *command, SummaryClaims *summary) {
    *summary = (SummaryClaims){0};
    if (command->word_count != 1 || !is_folder(command->words[0])) return true;
    char *path = format_text("%s/summary.h5", command->words[0]);
    char *wrong = access(path, F_OK) ? NULL : summary_read(path, summary);
    if (wrong) fprintf(stderr, "harness: %s: %s\n", path, wrong);
    const bool good = !wrong;
    free(wrong);
    free(path);
    return good;
}

/* Leaves out what the study did not take for its summary (rates that were not chosen); the others
   are called as there. */
static size_t leave_out_others(const SummaryClaims *summary, size_t count, Outcome *outcomes) {
    if (!summary->run_count) return count;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        size_t r = 0;
        while (r < summary->run_count && strcmp(summary->runs[r], outcomes[i].run_id) != 0) r++;
        if (r == summary->run_count) {
            outcome_free(&outcomes[i]);
            continue;
        }
        if (summary->groups[r]) outcomes[i].label = copy_text(summary->groups[r]);
        outcomes[kept++] = outcomes[i];
    }
    return kept;
}

static void print(const Command *command, const Comparison *comparison,
                  const SummaryClaims *summary) {
    if (command->csv) {
        Sheet *sheet = summary_groups(comparison);
        char *csv = sheet_csv(sheet);
        fputs(csv, stdout);
        free(csv);
        sheet_free(sheet);
        return;
    }
    const Terminal terminal = terminal_look(STDOUT_FILENO, command->color);
    const ComparisonView view = {stdout, &terminal, command->length, true};
    comparison_print(comparison, &view);
    const size_t claims = command->by ? 0 : summary->claim_count;
    Verdict *verdicts = verdicts_make(comparison, claims, summary->claims);
    verdicts_print(claims, summary->claims, verdicts, &view);
    verdicts_free(claims, verdicts);
    comparison_print_notes(comparison, &view);
}

int command_compare(const Command *command) {
    if (!command->word_count) command_usage("compare: expected result files or a folder of them");
    Paths paths = results_of(command);
    SummaryClaims summary;
    int code = find_summary(command, &summary) ? EXIT_DONE : EXIT_FAILED;

    Outcome *outcomes = ALLOCATE(paths.count, Outcome);
    size_t count = 0;
    for (size_t i = 0; i < paths.count; i++) {
        char *wrong = outcome_read(paths.list[i], &outcomes[count]);
        if (!wrong)
            count++;
        else
            fprintf(stderr, "harness: %s: %s\n", utf8_clean(paths.list[i], false), wrong);
        if (wrong) code = EXIT_FAILED;
        free(wrong);
        free(paths.list[i]);
    }
    free(paths.list);
    const size_t known = leave_out_others(&summary, count, outcomes);

    Comparison comparison;
    char *wrong = comparison_make(&comparison, known, outcomes, command->by);
    if (wrong) command_usage("compare: %s", wrong);
    if (known < count)
        comparison_note(&comparison, "left out, not in summary.h5: %zu runs", count - known);
    if (!comparison.outcome_count && code == EXIT_DONE) {
        fprintf(stderr, "harness: compare: no complete result\n");
        code = EXIT_FAILED;
    }
    print(command, &comparison, &summary);
    comparison_free(&comparison);
    summary_free(&summary);
    return code;
}
