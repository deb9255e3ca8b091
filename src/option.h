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
    OPTION_FILE      /* field: File */
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

typedef struct {
    const char *name; /* NULL ends a table */
    OptionType type;
    size_t offset;     /* of the field in the struct that the table describes */
    double fallback;   /* default of a boolean, integer, number; index of a choice */
    const char *text;  /* default of a string, path, list or span, as Lua text ("" = none); of the
                          others, what stands for it in docs where it follows from another key */
    double min, max;   /* inclusive; of every element of a list */
    const char *words; /* choices, separated by '|' */
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

#endif
