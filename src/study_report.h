/* study_report: what the end of a study prints and writes, and what `compare FOLDER` does again. */
#ifndef SRC_STUDY_REPORT_H
#define SRC_STUDY_REPORT_H

#include <stdio.h>

#include "src/claim.h"
#include "src/report/terminal.h"

typedef struct {
    const char *name;   /* of the study */
    const char *folder; /* where summary.h5 and the summary*.csv go */
    size_t run_count;
    const char *const *runs; /* paths of run.h5; one that is not there is told as missing */
    const char *const *labels; /* [run_count], NULL where the study has none for the run */
    size_t claim_count;
    const Claim *claims;
} StudyReport;

/* Reads the results, prints tables, differences, verdicts and notes on `to`, and writes
   folder/summary.h5 and folder/summary*.csv, each replaced as a whole. Returns an exit code:
   EXIT_OUTPUT with a sentence on stderr when a file could not be written, EXIT_FAILED when none of
   the runs has a result; missing runs alone are no failure of the report. Reads the files in a
   child, so before the first OpenMP region only (store/guard.h). */
int study_report(const StudyReport *report, FILE *to, const Terminal *terminal);

#endif
