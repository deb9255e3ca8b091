/* lock: run.lock, held by the one process that works on a run. The kernel releases a flock when
   its process ends, however it ends, so a lock is never left behind; the file stays, and its text
   ("host pid") only serves the message to others. */
#ifndef SRC_LOCK_H
#define SRC_LOCK_H

#include <stdbool.h>

typedef struct {
    int fd;
    int error;      /* after a refusal: EWOULDBLOCK when somebody holds it, or another errno */
    char host[256]; /* when somebody holds it: the owner, "?" and 0 where its text is not there */
    long pid;
} Lock;

/* Takes the lock without waiting for its owner; the file is made where there is none. The
   descriptor is closed in programs that this one starts. */
bool lock_take(Lock *lock, const char *path);

/* Whether somebody holds the lock; who, in *lock. Changes nothing: whoever takes it meanwhile gets
   it. */
bool lock_look(Lock *lock, const char *path);

void lock_release(Lock *lock);

#endif
