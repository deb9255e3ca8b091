/* mistakes: what is wrong with a config, collected and put in the order of the files. */
#ifndef SRC_LUA_MISTAKES_H
#define SRC_LUA_MISTAKES_H

#include "src/lua/config.h"

enum {
    MISTAKES_KEPT = 100,        /* the rest is only counted */
    MISTAKE_COMMAND_LINE = 1000 /* an order behind that of every file */
};

typedef struct {
    int order;  /* index of the source, or MISTAKE_COMMAND_LINE */
    int line;   /* or index of the override */
    char *text; /* one line, without its newline */
} Mistake;

typedef struct {
    int count;
    Mistake kept[MISTAKES_KEPT];
} MistakeList;

/* Takes over the text; control characters in it become '?', and a very long one is cut. */
void mistake_add(MistakeList *list, int order, int line, char *text);

/* Moves all of `from` that are not there yet. */
void mistakes_merge(MistakeList *to, MistakeList *from);

/* Hands all of them over, sorted, and empties the list. */
void mistakes_finish(MistakeList *list, Mistakes *to);

/* The word of the list that is nearest to `word` by edit distance (Levenshtein; a swap of
   neighbours counts as one), or NULL when none is near enough to be meant. */
const char *mistake_nearest(const char *word, int count, const char *const *list);

#endif
