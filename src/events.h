/* events: the log of a run, events.jsonl. One JSON object a line, {"event":"step",…}, appended
   with one write(2), so that a reader that follows the file sees whole lines and a run that is
   killed leaves whole lines. A checkpoint stores events.length; a resumed run cuts the log there
   and writes the same lines again.

   Functions that return int give 0 or an errno; the log then still ends with a whole line. */
#ifndef SRC_EVENTS_H
#define SRC_EVENTS_H

#include "src/base.h"
#include "src/json.h"

typedef struct {
    int64_t length; /* bytes of the file */
    int fd;
    bool echo;
    Json line;
} Events;

/* Opens or makes the log and keeps its first `keep` bytes (0: starts it again). A file that is
   shorter than that, or has no line that ends there, because somebody changed it, keeps its whole
   lines before: length says how many bytes.
   With `echo` every line goes to stdout as well (--json). */
int events_open(Events *events, const char *path, int64_t keep, bool echo);

/* An event of any kind ("start", "resume", "stage", "evaluate", "done"): begin returns the open
   object, to which the caller adds members; end writes the line. */
Json *events_begin(Events *events, const char *kind);
int events_end(Events *events);

/* What a logged step says, as the event "step". */
typedef struct {
    int64_t step;
    double loss, accuracy, learning_rate;
    double gradient_norm;     /* before clipping */
    int64_t tokens;           /* read so far */
    double tokens_per_second; /* since the last logged step */
    double seconds;           /* of training so far */
} EventStep;
int events_step(Events *events, const EventStep *row);

/* Waits until the lines so far are on the disk: before a checkpoint that counts on them. */
int events_sync(Events *events);

int events_close(Events *events);

#endif
