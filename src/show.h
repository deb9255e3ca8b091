/* show: what a result file holds, as text. */
#ifndef SRC_SHOW_H
#define SRC_SHOW_H

#include <stdio.h>

#include "src/report/terminal.h"

/* Prints what the file says: the run, accuracy by length, curves, position tables. Returns an exit
   code; when the file is no result, a sentence on stderr says why. Reads the file in a child, so
   before the first OpenMP region only (store/guard.h). */
int show_result(const char *path, FILE *to, const Terminal *terminal);

#endif
