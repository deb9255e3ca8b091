/* option: one table describes every key that a user can set: its type, default, range and meaning.
   Validation, `list`, `check`, error messages, docs/CONFIG.md and the result file are all driven
   from it, so a key is declared once, next to the code that uses it. */
#ifndef SRC_OPTION_H
#define SRC_OPTION_H

#include <stddef.h>
#include <stdint.h>

enum {
    OPTION_TEXT_SIZE = 256,   /* bytes of an OPTION_STRING field */
    OPTION_LIST_SIZE = 64,    /* most values of an OPTION_INTEGERS field */
    OPTION_STRUCT_SIZE = 1024 /* most bytes of a kind's option struct */
};

typedef enum {
    OPTION_BOOLEAN,  /* field: bool */
    OPTION_INTEGER,  /* field: int64_t; 8.0 is accepted for 8 */
    OPTION_NUMBER,   /* field: double; NaN and infinity are refused */
    OPTION_CHOICE,   /* field: int, the index of the word in `words` */
    OPTION_STRING,   /* field: char[OPTION_TEXT_SIZE] */
    OPTION_INTEGERS, /* field: IntegerList; one integer is a list of one */
    OPTION_SPAN,     /* field: Span: one integer, a list, or { from = a, to = b } */
    OPTION_SCHEDULE, /* field: double; or a Lua function of the step (train.learning_rate only) */
    OPTION_FILE,     /* field: File */
    OPTION_FUNCTION  /* field: const Function *, NULL where it is not given */
} OptionType;

typedef struct {
    int count;
    int64_t values[OPTION_LIST_SIZE];
} IntegerList;

/* A choice of lengths: any of `list`, or (range) any integer from list.values[0] to values[1]. */
typedef struct {
    int range; /* 0 or 1 */
    IntegerList list;
} Span;

/* A file that an option names. Its bytes are read with the config, which owns them. */
typedef struct {
    char path[OPTION_TEXT_SIZE]; /* from the project folder, or absolute */
    char sha256[65];             /* of the bytes */
    size_t size;
    const unsigned char *bytes; /* NULL: not read */
} File;

/* Functions that the config holds reach numerics as numbers, made before training: for arguments
   from, from + 1, … each. */
enum { FUNCTION_ARGUMENTS = 3 };
typedef struct {
    double from;
    size_t count;
} FunctionRange;

typedef struct {
    size_t length; /* of the sequences that it is for; 0: of any */
    FunctionRange ranges[FUNCTION_ARGUMENTS];
    double *values; /* row-major over the ranges */
} FunctionTable;

/* The value of an OPTION_FUNCTION. */
typedef struct {
    char sha256[65]; /* of its numbers; of a generator, of its text and what that refers to */
    size_t count;    /* tables, by rising length */
    FunctionTable *tables;
    struct Generator *generator; /* of a task: tasks/task.h */
} Function;

/* The table for sequences of that length, or NULL. */
const FunctionTable *function_table(const Function *function, size_t length);

typedef struct {
    const char *name; /* NULL ends a table */
    OptionType type;
    size_t offset;     /* of the field in the struct that the table describes */
    double fallback;   /* default of a boolean, integer, number; index of a choice */
    const char *text;  /* default of a string, path, list or span, as Lua text ("" = none); of the
                          others, what stands for it in docs where it follows from another key. A
                          function without this text must be given */
    double min, max;   /* inclusive; of every element of a list, every number of a function */
    const char *words; /* choices, or names of a function's arguments, separated by '|' */
    const char *doc;   /* one line, with the unit and the source where there is one */
} Option;

/* A kind: something chosen by name with options of its own (an encoding, a task). */
typedef struct {
    const char *name, *summary, *source;
    const Option *options; /* NULL: none */
    size_t options_size;   /* <= OPTION_STRUCT_SIZE */
} Kind;

/* In all of these a table may be NULL, which is an empty one. */

/* Sets every field of `options` (a struct described by table) to its default. */
void option_defaults(const Option *table, void *options);

/* The entry of that name, or NULL. */
const Option *option_find(const Option *table, const char *name);

/* The value as Lua text ("10000", "\"half\"", "{ 256, 512 }"), in memory of the caller (free). */
char *option_format(const Option *option, const void *options);

/* What is allowed, for messages and docs ("an integer from 1 to 64", "interleaved or half"); the
   caller frees it. */
char *option_allowed(const Option *option);

/* The word of a choice by index ("interleaved|half", 1 → "half"); buffer of the caller, "" past
   the end. */
const char *option_word(const char *words, int index, char word[64]);

/* The index of a word, or -1. */
int option_choice(const char *words, const char *word);

/* Sets booleans, integers, numbers and choices from a text, "clip=3 values=false layout=half",
   whatever their ranges. NULL, or from where on it says nothing that the table has. */
const char *option_assign(const Option *table, void *options, const char *text);

#endif
