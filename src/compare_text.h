/* compare_text: a comparison as tables on a terminal. */
#ifndef SRC_COMPARE_TEXT_H
#define SRC_COMPARE_TEXT_H

#include <stdio.h>

#include "src/report/terminal.h"
#include "src/verdict.h"

typedef struct {
    FILE *to;
    const Terminal *terminal;
    int64_t length; /* of the differences; 0: by area under the curve, where there is one */
    bool details;   /* also n, deviation, interval and evaluation noise of every group and length */
} ComparisonView;

/* For each task accuracy by length, then the differences between its groups. */
void comparison_print(const Comparison *comparison, const ComparisonView *view);
void verdicts_print(size_t count, const Claim *claims, const Verdict *verdicts,
                    const ComparisonView *view);
void comparison_print_notes(const Comparison *comparison, const ComparisonView *view);

#endif
