/* lengths: the table that a run ends with, accuracy by length. */
#ifndef SRC_REPORT_LENGTHS_H
#define SRC_REPORT_LENGTHS_H

#include <stdio.h>

#include "src/base.h"
#include "src/report/statistics.h"
#include "src/report/terminal.h"

/* Shares are 0 .. 1; NaN is printed as "-". */
typedef struct {
    int64_t length;
    const char *undefined; /* why the model is not defined at this length; NULL: it is */
    double token_accuracy;
    Interval interval; /* of token_accuracy, 95 % */
    double sequence_accuracy, loss;
    double random, majority; /* token accuracy of the baselines */
} LengthRow;

/* The row of the longest length trained at carries a mark, explained below the table; lengths
   beyond it are where a model generalises. */
void lengths_print(size_t count, const LengthRow *rows, int64_t trained_length, FILE *to,
                   const Terminal *terminal);

#endif
