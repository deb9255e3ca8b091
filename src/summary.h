/* summary: a comparison as files, for other programs: summary.h5 and, table by table, CSV.
   docs/FORMAT.md describes both. */
#ifndef SRC_SUMMARY_H
#define SRC_SUMMARY_H

#include "src/sheet.h"
#include "src/verdict.h"

typedef struct {
    const char *name;
    const Comparison *comparison;
    size_t claim_count;
    const Claim *claims;
    const Verdict *verdicts;
} Summary;

/* A row for each group and quantity. */
Sheet *summary_groups(const Comparison *comparison);

/* Writes folder/summary.h5, summary.csv (runs), summary_groups.csv, summary_differences.csv and
   summary_claims.csv. 0 or an errno. */
int summary_write(const Summary *summary, const char *folder);

/* The claims of a summary, and the ids of its runs with the groups that they are in. Reads the
   file in a child (store/guard.h). NULL, or a sentence why it is no summary (free). */
typedef struct {
    size_t claim_count, run_count;
    Claim *claims;
    char **runs;   /* run_id, some more than once */
    char **groups; /* their names, beside runs */
} SummaryClaims;
char *summary_read(const char *path, SummaryClaims *claims);
void summary_free(SummaryClaims *claims);

#endif
