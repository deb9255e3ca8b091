#include "src/base.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

enum { ALIGNMENT = 64, HUGE_PAGE = 2 << 20 };

static bool leaving;

void leave(int code) {
    leaving = true;
    exit(code);
}

static void left(void) {
    if (leaving) return;
    static const char sentence[] = "harness: a library ended the program, perhaps out of memory\n";
    ssize_t ignored = write(STDERR_FILENO, sentence, sizeof sentence - 1);
    (void)ignored;
    _exit(EXIT_INTERNAL);
}

void watch_exit(void) {
    CHECK(!atexit(left), "no memory for a function at the exit");
}

static void say(const char *prefix, const char *format, va_list arguments) {
    fputs(prefix, stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

void die(int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say("harness: ", format, arguments);
    va_end(arguments);
    leave(code);
}

void warn(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say("harness: warning: ", format, arguments);
    va_end(arguments);
}

void check_failed(const char *file, int line, const char *condition, const char *format, ...) {
    va_list arguments;
    fprintf(stderr, "harness: internal fault at %s:%d (%s): ", file, line, condition);
    va_start(arguments, format);
    say("", format, arguments);
    va_end(arguments);
    leave(EXIT_INTERNAL);
}

void *allocate(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX - HUGE_PAGE)
        die(EXIT_INTERNAL, "%zu elements of %zu bytes are more than memory can address", count,
            size);
    /* Large blocks on huge pages: fewer misses of the translation buffer. */
    size_t alignment = bytes >= HUGE_PAGE ? HUGE_PAGE : ALIGNMENT;
    size_t room = round_up(bytes ? bytes : 1, alignment);
    void *block = aligned_alloc(alignment, room);
    if (!block) {
        char text[32];
        die(EXIT_INTERNAL, "the system has no %s of memory to give",
            bytes_text((double)room, text));
    }
#if defined(__linux__)
    if (alignment == HUGE_PAGE) madvise(block, room, MADV_HUGEPAGE);
#endif
    memset(block, 0, room);
    return block;
}

int compare_numbers(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

char *copy_text(const char *text) {
    size_t size = strlen(text) + 1;
    return memcpy(allocate(size, 1), text, size);
}

char *format_text(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    CHECK(length >= 0, "vsnprintf failed: %s", strerror(errno));
    char *text = allocate((size_t)length + 1, 1);
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

#if defined(__linux__)
/* Not open_memstream: where that finds no memory, glibc leaves something out and only the fprintf
   in question tells. */
typedef struct {
    char **text;
    size_t *size;
} Memory;

static ssize_t grow_text(void *cookie, const char *bytes, size_t count) {
    Memory *memory = cookie;
    if (leaving) return (ssize_t)count;
    char *text = realloc(*memory->text, *memory->size + count + 1);
    if (!text) die(EXIT_INTERNAL, "the system has no memory for a text");
    memcpy(text + *memory->size, bytes, count);
    *memory->text = text;
    *memory->size += count;
    text[*memory->size] = 0;
    return (ssize_t)count;
}

static int forget(void *cookie) {
    free(cookie);
    return 0;
}

FILE *memory_open(char **text, size_t *size) {
    Memory *memory = ALLOCATE(1, Memory);
    *memory = (Memory){text, size};
    *text = copy_text("");
    *size = 0;
    FILE *stream =
        fopencookie(memory, "w", (cookie_io_functions_t){.write = grow_text, .close = forget});
    if (!stream) die(EXIT_INTERNAL, "the system has no memory for a text");
    return stream;
}
#else
FILE *memory_open(char **text, size_t *size) {
    FILE *stream = open_memstream(text, size);
    if (!stream) die(EXIT_INTERNAL, "the system has no memory for a text");
    return stream;
}
#endif

void memory_close(FILE *stream) {
    if (fclose(stream)) die(EXIT_INTERNAL, "the system has no memory for a text");
}

void *arena_take(Arena *arena, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) ||
        __builtin_add_overflow(arena->used, bytes, &bytes) || bytes > SIZE_MAX / 2)
        die(EXIT_INTERNAL, "%zu elements of %zu bytes are more than memory can address", count,
            size);
    size_t start = arena->used;
    arena->used = round_up(bytes, ALIGNMENT);
    if (!arena->base) return NULL;
    CHECK(arena->used <= arena->size, "the second layout of an arena is larger than the first");
    return arena->base + start;
}

void arena_allocate(Arena *arena) {
    arena->size = arena->used;
    arena->base = allocate(arena->size, 1);
    arena->used = 0;
}

void arena_free(Arena *arena) {
    free(arena->base);
    *arena = (Arena){0};
}

const char *bytes_text(double bytes, char text[32]) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    while (bytes >= 1024 && unit + 1 < sizeof units / sizeof *units) bytes /= 1024, unit++;
    snprintf(text, 32, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return text;
}

double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
