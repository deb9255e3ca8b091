/* faults: makes one call of the program fail. Loaded in front of libc (LD_PRELOAD); what is to
   happen is said in the environment:

       FAULT=CALL:N:WHAT      the N-th CALL (1, 2, …) does WHAT
       FAULT_FOLDER=PATH      calls count that work on this folder, or on a file in it
       FAULT_REPORT=FILE      made when it happened; with N = 0 it gets a line for each call

   CALL is one of the functions below by its name here, or `allocate` for any allocation, anywhere;
   of these, N = 0 tells the first one of each place and who asked for it.
   WHAT is an errno to fail with, `short` to read or write half of the bytes, `before` or `after` to
   be killed by SIGKILL at this point. FAULT_CLOCK=1 has the clock go back an hour at each look. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *call, *what, *folder, *report;
static long number, calls;
static bool active;
static bool ours[1024]; /* descriptors of files in the folder */

/* dlsym gives an object pointer where ISO C wants a function. */
#define NEXT(name) __extension__((__typeof__(&name))next(#name))

static void *next(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) _exit(126);
    return found;
}

__attribute__((constructor)) static void start(void) {
    folder = getenv("FAULT_FOLDER");
    report = getenv("FAULT_REPORT");
    const char *fault = getenv("FAULT");
    if (!fault) return;
    static char text[64];
    snprintf(text, sizeof text, "%s", fault);
    call = strtok(text, ":");
    number = atol(strtok(NULL, ":"));
    what = strtok(NULL, ":");
    /* Loads what unwinding needs: that must not happen within an allocation. */
    void *frames[4];
    backtrace(frames, 4);
}

/* From here on, with main: what libraries do when they are loaded is theirs. */
typedef int Main(int, char **, char **);
typedef void Hook(void);
int __libc_start_main(Main *main, int argc, char **argv, Hook *before, Hook *after, Hook *unload,
                      void *stack);
int __libc_start_main(Main *main, int argc, char **argv, Hook *before, Hook *after, Hook *unload,
                      void *stack) {
    active = call != NULL;
    return NEXT(__libc_start_main)(main, argc, argv, before, after, unload, stack);
}

/* System calls: nothing here goes through the functions below. */
static void tell(const char *line) {
    const long to = syscall(SYS_openat, AT_FDCWD, report, O_WRONLY | O_CREAT | O_APPEND, 0666);
    syscall(SYS_write, to, line, strlen(line));
    syscall(SYS_close, to);
}

/* Is this the call? Says so, and kills where that is wanted before it. */
static bool meant(const char *name, const char *about) {
    if (!active || strcmp(name, call)) return false;
    const long n = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    if (number && n != number) return false;
    const int kept = errno;
    char line[PATH_MAX + 64];
    snprintf(line, sizeof line, "%s %ld %s\n", name, n, about);
    tell(line);
    errno = kept;
    if (number && !strcmp(what, "before")) kill(getpid(), SIGKILL);
    return number;
}

static bool in_folder(const char *path) {
    return folder && !strncmp(path, folder, strlen(folder));
}
static bool of_folder(int fd) {
    return fd >= 0 && fd < (int)(sizeof ours / sizeof *ours) && ours[fd];
}
static bool fails(void) { return what && *what >= '0' && *what <= '9'; }

/* The result of the call, or of the fault that stands for it. */
#define ANSWER(type, hit, failed, really)                                                          \
    do {                                                                                           \
        const bool now = (hit);                                                                    \
        if (now && fails()) {                                                                      \
            errno = atoi(what);                                                                    \
            return failed;                                                                         \
        }                                                                                          \
        type answer = (really);                                                                    \
        if (now && !strcmp(what, "after")) kill(getpid(), SIGKILL);                                \
        return answer;                                                                             \
    } while (0)

/* ---- files ----------------------------------------------------------------------------- */

static int mark(int fd, bool own) {
    if (fd >= 0 && fd < (int)(sizeof ours / sizeof *ours)) ours[fd] = own;
    return fd;
}

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    const bool own = in_folder(path);
    ANSWER(int, own && meant("open", path), -1, mark(NEXT(open)(path, flags, mode), own));
}
DIR *opendir(const char *path) {
    ANSWER(DIR *, in_folder(path) && meant("opendir", path), NULL, NEXT(opendir)(path));
}
ssize_t write(int fd, const void *bytes, size_t size) {
    const bool hit = of_folder(fd) && meant("write", "");
    if (hit && !strcmp(what, "short")) return NEXT(write)(fd, bytes, size / 2);
    ANSWER(ssize_t, hit, -1, NEXT(write)(fd, bytes, size));
}
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) {
    const bool hit = of_folder(fd) && meant("pwrite", "");
    if (hit && !strcmp(what, "short")) return NEXT(pwrite)(fd, bytes, size / 2, at);
    ANSWER(ssize_t, hit, -1, NEXT(pwrite)(fd, bytes, size, at));
}
ssize_t read(int fd, void *bytes, size_t size) {
    ANSWER(ssize_t, of_folder(fd) && meant("read", ""), -1, NEXT(read)(fd, bytes, size));
}
ssize_t pread(int fd, void *bytes, size_t size, off_t at) {
    const bool hit = of_folder(fd) && meant("pread", "");
    if (hit && !strcmp(what, "short")) return NEXT(pread)(fd, bytes, size / 2, at);
    ANSWER(ssize_t, hit, -1, NEXT(pread)(fd, bytes, size, at));
}
int fsync(int fd) {
    ANSWER(int, of_folder(fd) && meant("fsync", ""), -1, NEXT(fsync)(fd));
}
int fdatasync(int fd) {
    ANSWER(int, of_folder(fd) && meant("fdatasync", ""), -1, NEXT(fdatasync)(fd));
}
int ftruncate(int fd, off_t size) {
    ANSWER(int, of_folder(fd) && meant("ftruncate", ""), -1, NEXT(ftruncate)(fd, size));
}
/* Of a close that fails the descriptor is gone all the same, as Linux does it. */
int close(int fd) {
    const bool own = of_folder(fd);
    mark(fd, false);
    const int closed = own && fails() ? NEXT(close)(fd) : 0;
    const bool hit = own && meant("close", "");
    if (own && fails() && !hit) return closed;
    ANSWER(int, hit, -1, NEXT(close)(fd));
}
int flock(int fd, int operation) {
    ANSWER(int, of_folder(fd) && meant("flock", ""), -1, NEXT(flock)(fd, operation));
}
int rename(const char *from, const char *to) {
    ANSWER(int, in_folder(from) && meant("rename", to), -1, NEXT(rename)(from, to));
}
int unlink(const char *path) {
    ANSWER(int, in_folder(path) && meant("unlink", path), -1, NEXT(unlink)(path));
}
int mkdir(const char *path, mode_t mode) {
    ANSWER(int, in_folder(path) && meant("mkdir", path), -1, NEXT(mkdir)(path, mode));
}

/* ---- memory ---------------------------------------------------------------------------- */

enum { CALLERS = 4 };

/* Has an allocation been asked for by these callers before? */
static bool new_place(void *const *callers, int count) {
    enum { PLACES = 1 << 16 };
    static uint64_t seen[PLACES];
    uint64_t place = 14695981039346656037u;
    for (int i = 0; i < count; i++) place = (place ^ (uintptr_t)callers[i]) * 1099511628211u;
    size_t at = place % PLACES;
    for (size_t tries = 0; tries < PLACES && seen[at]; tries++, at = (at + 1) % PLACES)
        if (seen[at] == place) return false;
    seen[at] = place;
    return true;
}

/* How many frames are of this file, and of a sanitizer in between. */
static int own_frames(void *const *frames, int count) {
    Dl_info us, info;
    int own = 0;
    for (int i = 0; i < count && i < 5 && dladdr((const void *)&calls, &us); i++)
        if (dladdr(frames[i], &info) && info.dli_fbase == us.dli_fbase) own = i + 1;
    return own;
}

/* The file of the innermost caller that is not libc. */
static const char *asker(void *const *callers, int count) {
    const char *name = "nobody";
    for (int i = 0; i < count; i++) {
        Dl_info info;
        if (!dladdr(callers[i], &info) || !info.dli_fname) continue;
        const char *slash = strrchr(info.dli_fname, '/');
        name = slash ? slash + 1 : info.dli_fname;
        if (strncmp(name, "libc.so", 7)) break;
    }
    return name;
}

/* Is this allocation to fail? With N = 0 the first one of each place is told. */
static bool refused(size_t size) {
    static __thread bool within;
    if (!active || within || strcmp(call, "allocate")) return false;
    within = true;
    char about[128] = "";
    void *frames[CALLERS + 3];
    const int count = number ? 0 : backtrace(frames, CALLERS + 3), own = own_frames(frames, count);
    bool hit = false;
    if (!number && !new_place(frames + own, count - own)) {
        calls++;
    } else {
        if (!number)
            snprintf(about, sizeof about, "%s %zu", asker(frames + own, count - own), size);
        hit = meant("allocate", about);
    }
    within = false;
    if (hit) errno = ENOMEM;
    return hit;
}

void *malloc(size_t size) {
    static __typeof__(&malloc) really;
    if (!really) really = NEXT(malloc);
    return refused(size) ? NULL : really(size);
}
void *calloc(size_t count, size_t size) {
    static __typeof__(&calloc) really;
    if (!really) really = NEXT(calloc);
    return refused(count * size) ? NULL : really(count, size);
}
void *realloc(void *block, size_t size) {
    static __typeof__(&realloc) really;
    if (!really) really = NEXT(realloc);
    return refused(size) ? NULL : really(block, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
    static __typeof__(&aligned_alloc) really;
    if (!really) really = NEXT(aligned_alloc);
    return refused(size) ? NULL : really(alignment, size);
}
int posix_memalign(void **block, size_t alignment, size_t size) {
    static __typeof__(&posix_memalign) really;
    if (!really) really = NEXT(posix_memalign);
    return refused(size) ? ENOMEM : really(block, alignment, size);
}

/* ---- time ------------------------------------------------------------------------------ */

time_t time(time_t *to) {
    static time_t looks;
    const time_t now = NEXT(time)(NULL) - (getenv("FAULT_CLOCK") ? 3600 * ++looks : 0);
    if (to) *to = now;
    return now;
}
