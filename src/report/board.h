/* board: several lines at the end of a terminal that are written again and again, one for each run
   at work and one for the whole; elsewhere only what is said. */
#ifndef SRC_REPORT_BOARD_H
#define SRC_REPORT_BOARD_H

#include <stdio.h>

#include "src/base.h"
#include "src/report/terminal.h"

typedef struct {
    FILE *to;
    Terminal terminal; /* of `to` */
    int shown;         /* lines on the terminal now */
    double when;       /* they were written */
} Board;

/* Whether it is time to write the lines again. */
bool board_due(const Board *board, double now);

/* Writes the lines over the last ones, each cut to the width; what does not fit into the height is
   left out. Only on a terminal that can rewrite. */
void board_show(Board *board, double now, int count, char *const *lines);

/* Removes the lines, so that a message can be printed in their place. */
void board_clear(Board *board);

#endif
