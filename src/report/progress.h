/* progress: one line on stderr that says where training is:

       stage 2/4  step 1200/5000 24 %  loss 1.234  accuracy 45.3 %  eta 2:10  18.2k tokens/s
       71 % of peak  █▇▅▃▂▁

   On a terminal the line is written again at most 10 times a second, as much of it as fits;
   elsewhere a line is added every 10 seconds. Times come from the caller (seconds_now), and the
   clock that rates and the ETA are worked out from stands still during notes (evaluation,
   checkpoints). */
#ifndef SRC_REPORT_PROGRESS_H
#define SRC_REPORT_PROGRESS_H

#include <stdio.h>

#include "src/base.h"
#include "src/report/terminal.h"

/* Where a run is. Counts may start at the run or at the process: rates are differences. */
typedef struct {
    int64_t step;
    int stage;             /* from 1 */
    double loss, accuracy; /* NaN: not known (yet) */
    double tokens;
    double flops; /* useful floating-point operations; 0: not counted */
} ProgressState;

typedef struct {
    double clock, step, tokens, flops;
} ProgressSample;

enum { PROGRESS_WINDOW = 32, PROGRESS_HISTORY = 16 };

typedef struct {
    /* Filled by the caller, the rest zero. */
    FILE *to;
    Terminal terminal; /* of `to` */
    bool quiet;        /* --quiet: nothing is written */
    int stages;
    int64_t steps; /* of the whole run */
    double flops;  /* of the whole run, in the count of the state: an ETA that knows that the steps
                      of later stages are slower; 0: the ETA goes by steps */
    double peak;   /* floating-point operations a second that this machine reaches; 0: unknown */

    /* Private. */
    ProgressState state;
    ProgressSample latest, window[PROGRESS_WINDOW]; /* the window is a ring */
    size_t samples;                                 /* ever put into it */
    bool paused;
    double pause_start, pauses; /* seconds that the clock stood still before this pause */
    double shown;               /* when the last line was written */
    int64_t shown_step;
    double loss_sums[PROGRESS_HISTORY]; /* over equal parts of the run, for the sparkline */
    int64_t loss_counts[PROGRESS_HISTORY];
} Progress;

/* "2:10", "1:02:10", "3d 04h". */
const char *progress_duration(double seconds, char text[32]);

/* Before the first step; state->step is 0, or the step that a resumed run goes on from. */
void progress_start(Progress *progress, double now, const ProgressState *state);

/* After a step. */
void progress_step(Progress *progress, double now, const ProgressState *state);

/* Stops the clock and shows what goes on instead ("evaluating length 4096"). With NULL the line is
   cleared, so that a message can be printed. */
void progress_note(Progress *progress, double now, const char *what);

/* Before the next step. */
void progress_resume(Progress *progress, double now);

/* The last state, and the end of the line. */
void progress_end(Progress *progress, double now);

#endif
