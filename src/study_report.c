#include "src/study_report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/compare_text.h"
#include "src/summary.h"

int study_report(const StudyReport *report, FILE *to, const Terminal *terminal) {
    Outcome *outcomes = ALLOCATE(most(report->run_count, 1), Outcome);
    char **missing = ALLOCATE(most(report->run_count, 1), char *);
    size_t count = 0, missing_count = 0;
    for (size_t i = 0; i < report->run_count; i++) {
        char *wrong = access(report->runs[i], F_OK)
                          ? copy_text("no result")
                          : outcome_read(report->runs[i], &outcomes[count]);
        if (!wrong) {
            const char *label = report->labels[i];
            outcomes[count++].label = label ? copy_text(label) : NULL;
        } else {
            missing[missing_count++] = format_text("%s: %s", report->runs[i], wrong);
        }
        free(wrong);
    }
    Comparison comparison;
    char *wrong = comparison_make(&comparison, count, outcomes, NULL);
    CHECK(!wrong, "%s", wrong);
    for (size_t i = 0; i < missing_count; i++) {
        comparison_note(&comparison, "%s", missing[i]);
        free(missing[i]);
    }
    free(missing);

    Verdict *verdicts = verdicts_make(&comparison, report->claim_count, report->claims);
    const ComparisonView view = {.to = to, .terminal = terminal};
    comparison_print(&comparison, &view);
    verdicts_print(report->claim_count, report->claims, verdicts, &view);
    comparison_print_notes(&comparison, &view);

    const Summary summary = {report->name, &comparison, report->claim_count, report->claims,
                             verdicts};
    int code = comparison.outcome_count ? EXIT_DONE : EXIT_FAILED;
    const int error = summary_write(&summary, report->folder);
    if (error) {
        fprintf(stderr, "harness: %s/summary.h5: %s\n", report->folder, strerror(error));
        code = EXIT_OUTPUT;
    }
    verdicts_free(report->claim_count, verdicts);
    comparison_free(&comparison);
    return code;
}
