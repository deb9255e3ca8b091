/* terminal: what the place that text goes to can show. Messages and progress go to stderr, results
   to stdout: each has its own. */
#ifndef SRC_REPORT_TERMINAL_H
#define SRC_REPORT_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

typedef enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } ColorChoice; /* words of --color */

typedef struct {
    int fd;
    bool rewrites; /* a terminal whose last line can be written again */
    bool color;
    bool utf8;
} Terminal;

/* Color with COLOR_AUTO: not with NO_COLOR; with CLICOLOR_FORCE; otherwise on a terminal that is
   not TERM=dumb. UTF-8 as the first of LC_ALL, LC_CTYPE and LANG that is set says. */
Terminal terminal_look(int fd, ColorChoice choice);

/* Columns and rows at this moment; 80 and 24 where the system does not say. */
size_t terminal_width(const Terminal *terminal);
size_t terminal_height(const Terminal *terminal);

/* Starts and ends a dim or bold run of text; "" without color. */
const char *terminal_dim(const Terminal *terminal);
const char *terminal_bold(const Terminal *terminal);
const char *terminal_plain(const Terminal *terminal);

/* A character for each value, from `low` to `high` and cut there: ▁▂▃▄▅▆▇█, or .:-=+*# where there
   is no UTF-8; a blank for NaN. to: 3 * count + 1 bytes. */
const char *terminal_sparkline(const Terminal *terminal, size_t count, const double *values,
                               double low, double high, char *to);

/* A bar that fills `share` (0 .. 1) of `width` columns with █ and its eighths, or with #, and
   blanks to the end. to: 3 * width + 1 bytes. */
const char *terminal_bar(const Terminal *terminal, double share, size_t width, char *to);

#endif
