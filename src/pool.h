/* pool: this very program, started again as workers: one process a job, side by side.

   A worker is the binary that runs now (/proc/self/exe), even when the file was replaced since. It
   has a process group of its own, so that Ctrl-C reaches only the parent, which passes signals on;
   nothing on stdin; its stdout is a pipe whose lines the parent sees; its stderr is added to
   a log file. It dies with its parent, also with one that is killed. */
#ifndef SRC_POOL_H
#define SRC_POOL_H

#include <stdbool.h>

typedef struct {
    void *to;
    void (*line)(void *to, int job, const char *line); /* of the worker's stdout */
    /* The worker's exit code, or 128 + the signal that killed it. */
    void (*ended)(void *to, int job, int status);
} PoolEvents;

typedef struct Pool Pool;

Pool *pool_create(int most_workers, const PoolEvents *events);
/* Kills what is still running. */
void pool_free(Pool *pool);

int pool_running(const Pool *pool);

/* Starts a worker for the job, with these arguments behind the program's name, a NULL at their end,
   and "--worker PID". 0, or an errno. */
int pool_start(Pool *pool, int job, const char *const *arguments, const char *log_path);

/* Waits until a worker says or ends something, a signal arrives, or the time is over. */
void pool_wait(Pool *pool, int milliseconds);

void pool_signal(const Pool *pool, int number);

/* In a worker, first of all: ties its life to that of its parent. */
void pool_enter(long parent);

#endif
