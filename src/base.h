/* base: what every file may use. The number type, errors that end the program with one clear
   sentence, checked allocation, and the arena (one block a kind, measured, then carved). */
#ifndef SRC_BASE_H
#define SRC_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* `real` is the type of parameters, activations and gradients: float to run, double for gradient
   checks (`make double`, -DREAL_DOUBLE). Sums that travel far (carries, scans, losses) are double
   in both builds. */
#ifdef REAL_DOUBLE
typedef double real;
#define REAL_NAME "double"
#else
typedef float real;
#define REAL_NAME "float"
#endif

/* Exit codes, as in docs and in sysexits.h where one exists. */
enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,    /* the run failed, or a file is not what it should be */
    EXIT_USAGE = 2,     /* wrong config or command line: nothing was written */
    EXIT_BUSY = 69,     /* of a worker to its study: another process works on the run */
    EXIT_INTERNAL = 70, /* a fault of the program, or memory that the system refused */
    EXIT_OUTPUT = 74,   /* disk full, unwritable */
    EXIT_AGAIN = 75     /* stopped early after a checkpoint: the same command goes on */
};

#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))

/* Ends the program. Once main has called watch_exit, whoever else calls exit() (a library that was
   refused memory, say) ends it with EXIT_INTERNAL and a sentence. */
_Noreturn void leave(int code);
void watch_exit(void);

/* Prints "harness: " and the sentence on stderr and ends the program with `code`. */
_Noreturn void die(int code, const char *format, ...) PRINTF_LIKE(2, 3);

/* Prints "harness: warning: " and the sentence on stderr. */
void warn(const char *format, ...) PRINTF_LIKE(1, 2);

/* An invariant of the program: prints file:line and the sentence, ends with EXIT_INTERNAL. */
#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) check_failed(__FILE__, __LINE__, #condition, __VA_ARGS__);               \
    } while (0)
_Noreturn void check_failed(const char *file, int line, const char *condition, const char *format,
                            ...) PRINTF_LIKE(4, 5);

/* Zeroed memory for count elements of the given size, 64-byte aligned; free() releases it. Dies
   with EXIT_INTERNAL, naming the bytes, when the product overflows or the system has none. */
void *allocate(size_t count, size_t size);
#define ALLOCATE(count, Type) ((Type *)allocate((count), sizeof(Type)))

/* A copy of the string / a formatted string, in memory of its own. */
char *copy_text(const char *text);
char *format_text(const char *format, ...) PRINTF_LIKE(1, 2);

/* A stream whose text grows in memory (the caller frees it), and its end, from which on text and
   size stand. Die with EXIT_INTERNAL rather than give a text that was cut off. */
FILE *memory_open(char **text, size_t *size);
void memory_close(FILE *stream);

/* An arena: the layout is run twice over the same arena_take calls. While base is NULL it only
   counts (and returns NULL); after arena_allocate it hands out the pieces. Nothing is released
   before arena_free. */
typedef struct {
    char *base;
    size_t used; /* bytes */
    size_t size; /* bytes */
} Arena;

void *arena_take(Arena *arena, size_t count, size_t size);
#define ARENA_TAKE(arena, count, Type) ((Type *)arena_take((arena), (count), sizeof(Type)))
void arena_allocate(Arena *arena); /* one zeroed block of the size measured so far */
void arena_free(Arena *arena);

/* Of doubles, for qsort and bsearch: rising. */
int compare_numbers(const void *a, const void *b);

/* Bytes as a person reads them ("1.3 GiB"), in a buffer of the caller. */
const char *bytes_text(double bytes, char text[32]);

/* Seconds from a clock that never goes back. */
double seconds_now(void);

static inline size_t round_up(size_t n, size_t step) { return (n + step - 1) / step * step; }
static inline size_t least(size_t a, size_t b) { return a < b ? a : b; }
static inline size_t most(size_t a, size_t b) { return a > b ? a : b; }

#endif
