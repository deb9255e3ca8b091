#include "src/pool.h"

#include "src/base.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { LINE = 4096, ARGUMENTS = 600 };

extern char **environ;

typedef struct {
    int job;
    pid_t pid;
    int out; /* the read end of its stdout */
    size_t length;
    char line[LINE];
} Worker;

struct Pool {
    PoolEvents events;
    int running, most;
    Worker *workers; /* [running] */
};

Pool *pool_create(int most_workers, const PoolEvents *events) {
    Pool *pool = ALLOCATE(1, Pool);
    /* LIBXSMM sets OMP_PROC_BIND of the process; with it every worker would bind itself to the same
       first core. */
    setenv("OMP_PROC_BIND", "false", 1);
    *pool = (Pool){.events = *events,
                   .most = most_workers,
                   .workers = ALLOCATE((size_t)most_workers, Worker)};
    return pool;
}

int pool_running(const Pool *pool) {
    return pool->running;
}

static int spawn(Worker *worker, char *const *arguments, int write_end, const char *log_path) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, write_end, STDOUT_FILENO);
    /* Not cut: another process may be at work on the run, and write to it. */
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, log_path,
                                     O_WRONLY | O_CREAT | O_APPEND, 0666);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    const int error =
        posix_spawn(&worker->pid, "/proc/self/exe", &files, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return error;
}

int pool_start(Pool *pool, int job, const char *const *arguments, const char *log_path) {
    CHECK(pool->running < pool->most, "more than %d workers", pool->most);
    char parent[32];
    const char *all[ARGUMENTS] = {"harness"};
    int count = 1, ends[2];
    for (; arguments[count - 1]; count++) {
        CHECK(count < ARGUMENTS - 3, "more than %d arguments", ARGUMENTS);
        all[count] = arguments[count - 1];
    }
    snprintf(parent, sizeof parent, "%ld", (long)getpid());
    all[count++] = "--worker";
    all[count++] = parent;
    if (pipe2(ends, O_CLOEXEC)) return errno;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    Worker *worker = &pool->workers[pool->running];
    *worker = (Worker){.job = job, .out = ends[0]};
    const int error = spawn(worker, (char *const *)(uintptr_t)all, ends[1], log_path);
    close(ends[1]);
    if (error) close(ends[0]);
    else pool->running++;
    return error;
}

/* Hands over the whole lines that are there; false at the end of the stream. */
static bool read_lines(const Pool *pool, Worker *worker) {
    for (;;) {
        const ssize_t got =
            read(worker->out, worker->line + worker->length, LINE - 1 - worker->length);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return true;
        if (!got) return false;
        worker->length += (size_t)got;
        char *start = worker->line, *end;
        worker->line[worker->length] = 0;
        while ((end = strchr(start, '\n'))) {
            *end = 0;
            pool->events.line(pool->events.to, worker->job, start);
            start = end + 1;
        }
        worker->length -= (size_t)(start - worker->line);
        if (worker->length == LINE - 1) worker->length = 0; /* no line of ours is that long */
        memmove(worker->line, start, worker->length);
    }
}

/* Takes leave of a worker that has ended, or closed its stdout and is about to. */
static void end_worker(Pool *pool, int at, int status) {
    Worker *worker = &pool->workers[at];
    const int job = worker->job;
    read_lines(pool, worker);
    close(worker->out);
    *worker = pool->workers[--pool->running];
    pool->events.ended(pool->events.to, job,
                       WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

void pool_wait(Pool *pool, int milliseconds) {
    struct pollfd *streams = ALLOCATE((size_t)pool->most, struct pollfd);
    for (int i = 0; i < pool->running; i++)
        streams[i] = (struct pollfd){.fd = pool->workers[i].out, .events = POLLIN};
    poll(streams, (nfds_t)pool->running, milliseconds);
    free(streams);
    /* From the last to the first: a worker that ended gives its place to the last. */
    for (int i = pool->running - 1; i >= 0; i--) {
        int status = 0;
        Worker *worker = &pool->workers[i];
        const bool open = read_lines(pool, worker);
        pid_t ended;
        do ended = waitpid(worker->pid, &status, open ? WNOHANG : 0);
        while (ended < 0 && errno == EINTR);
        if (ended) end_worker(pool, i, status);
    }
}

void pool_signal(const Pool *pool, int number) {
    for (int i = 0; i < pool->running; i++) kill(pool->workers[i].pid, number);
}

void pool_free(Pool *pool) {
    pool_signal(pool, SIGKILL);
    for (int i = 0; i < pool->running; i++) {
        waitpid(pool->workers[i].pid, NULL, 0);
        close(pool->workers[i].out);
    }
    free(pool->workers);
    free(pool);
}

void pool_enter(long parent) {
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    /* It may have died before this line. */
    if ((long)getppid() != parent) _exit(EXIT_AGAIN);
}
