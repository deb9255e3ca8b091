#include "src/store/guard.h"
#include "src/base.h"
#include "src/utf8.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CHILD_SECONDS = 120,
    CHILD_REFUSED = 3 /* any other status but 0 is a crash */
};

static _Noreturn void be_child(GuardBody *body, const void *argument, int fd) {
    /* Whoever handles these in the parent (a sanitizer) would only delay the end. */
    static const int deadly[] = {SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) signal(deadly[i], SIG_DFL);
    alarm(CHILD_SECONDS);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    dup2(fd, STDERR_FILENO); /* libc has much to say of a heap that a file has broken */
    FILE *to = fdopen(fd, "w");
    bool done = to && body(argument, to);
    if (!to || fclose(to) != 0) _exit(EXIT_INTERNAL);
    _exit(done ? EXIT_DONE : CHILD_REFUSED); /* not exit: its buffers are the parent's */
}

static char *read_all(int fd) {
    size_t length = 0, room = 4096;
    char *text = ALLOCATE(room, char);
    for (;;) {
        if (length + 1 == room) {
            char *larger = ALLOCATE(2 * room, char);
            memcpy(larger, text, length);
            free(text);
            text = larger;
            room *= 2;
        }
        ssize_t n = read(fd, text + length, room - 1 - length);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        length += (size_t)n;
    }
    text[length] = 0;
    return text;
}

bool guard_run(GuardBody *body, const void *argument, char **text) {
    int ends[2];
    fflush(NULL);
    pid_t child = pipe(ends) == 0 ? fork() : -1;
    if (child < 0) die(EXIT_INTERNAL, "cannot start a child process: %s", strerror(errno));
    if (child == 0) {
        close(ends[0]);
        be_child(body, argument, ends[1]);
    }
    close(ends[1]);
    *text = read_all(ends[0]);
    close(ends[0]);

    int status;
    while (waitpid(child, &status, 0) < 0) CHECK(errno == EINTR, "waitpid: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_DONE) return true;
    utf8_clean(*text, false);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_REFUSED) return false;
    free(*text);
    const int by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_INTERNAL)
        *text = copy_text("could not be read: an internal fault, or no memory");
    else if (by == SIGKILL) /* by somebody, perhaps the system for want of memory */
        *text = copy_text("could not be read: the reader was killed");
    else if (by == SIGALRM)
        *text = format_text("is damaged: reading it did not end within %d s", CHILD_SECONDS);
    else
        *text = copy_text("is damaged: the reader crashed");
    return false;
}
