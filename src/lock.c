#include "src/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_TRIES = 1000 };

static void read_owner(Lock *lock) {
    char text[sizeof lock->host + 32];
    ssize_t length = pread(lock->fd, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = 0;
    if (sscanf(text, "%255s %ld", lock->host, &lock->pid) != 2) {
        strcpy(lock->host, "?");
        lock->pid = 0;
    }
}

static bool write_owner(const Lock *lock) {
    char host[sizeof lock->host] = "?", text[sizeof host + 32];
    gethostname(host, sizeof host - 1);
    int length = snprintf(text, sizeof text, "%s %ld\n", host, (long)getpid());
    return !ftruncate(lock->fd, 0) && pwrite(lock->fd, text, (size_t)length, 0) == length;
}

/* Whether the path still leads to the file that is open: it may have been removed, and made again
   by another process, between open and flock. */
static bool same_file(int fd, const char *path) {
    struct stat ours, theirs;
    return !fstat(fd, &ours) && !stat(path, &theirs) && ours.st_dev == theirs.st_dev &&
           ours.st_ino == theirs.st_ino;
}

/* Whether flock was refused by processes that look, who hold it together and for a moment. */
static bool only_looked_at(int fd) {
    static const struct timespec moment = {.tv_nsec = 1000000};
    if (flock(fd, LOCK_SH | LOCK_NB)) return false;
    flock(fd, LOCK_UN);
    nanosleep(&moment, NULL);
    return true;
}

bool lock_take(Lock *lock, const char *path) {
    *lock = (Lock){.fd = -1};
    for (int tries = 0;;) {
        lock->fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (lock->fd < 0) {
            lock->error = errno;
            return false;
        }
        if (flock(lock->fd, LOCK_EX | LOCK_NB)) {
            lock->error = errno;
            const bool again = lock->error == EWOULDBLOCK && tries++ < MOST_TRIES;
            if (!again || !only_looked_at(lock->fd)) {
                if (lock->error == EWOULDBLOCK) read_owner(lock);
                break;
            }
            close(lock->fd);
            continue;
        }
        if (same_file(lock->fd, path)) {
            errno = EIO; /* a write that was cut short sets none */
            if (write_owner(lock)) return true;
            lock->error = errno;
            break;
        }
        close(lock->fd);
    }
    close(lock->fd);
    lock->fd = -1;
    return false;
}

bool lock_look(Lock *lock, const char *path) {
    *lock = (Lock){.fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (lock->fd < 0) return false;
    const bool held = flock(lock->fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
    if (held) read_owner(lock);
    lock_release(lock);
    return held;
}

void lock_release(Lock *lock) {
    if (lock->fd >= 0) close(lock->fd);
    lock->fd = -1;
}
