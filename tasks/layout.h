/* layout: what tasks share that answer a string with a string, and those that answer one question.

       BOS x1 .. xn SEP y1 .. ym EOS     y1 is asked for at SEP, EOS at ym; each answer is then read
       BOS x1 .. xn SEP _  ..  _         slots: yj is asked for at the jth empty place, never read

   Where the context is longer than that, EOS fills it and nothing more is asked. */
#ifndef TASKS_LAYOUT_H
#define TASKS_LAYOUT_H

#include "tasks/task.h"

enum { LAYOUT_BOS, LAYOUT_SEP, LAYOUT_EOS, LAYOUT_SYMBOLS };

typedef struct {
    size_t input, output; /* n, m */
    int32_t slot;         /* id of an empty place; 0: answers are read */
} Layout;

/* The first scored place, and the number of them: EOS is asked for where answers are read. */
static inline size_t layout_first(const Layout *layout) {
    return layout->input + 1 + (layout->slot != 0);
}
static inline size_t layout_scored(const Layout *layout) {
    return layout->output + (layout->slot == 0);
}

/* At place t the answer is the token at place `from`, the farthest that is needed. */
static inline void layout_answer(Example *example, size_t t, size_t from) {
    example->targets[t] = example->tokens[from];
    example->distance[t] = (int32_t)(t - from);
}

/* Writes everything but the input, tokens[1 .. n], the answers but EOS, targets from layout_first
   on, and the distances of all scored places. */
void layout_finish(const Layout *layout, size_t length, Example *example);

/* The place of the first SEP in tokens[0..t], or t + 1 when there is none. */
size_t layout_separator(const int32_t *tokens, size_t t);

/* The text of BOS, SEP, EOS, and of the symbols behind them. */
const char *layout_text(int32_t token, char text[32]);

/* One question, at place t, which needs the token at `from`; writes all but tokens. */
void layout_question(Example *example, size_t length, size_t t, size_t from, int32_t answer);

/* `masked` of tasks with one question at the end: nothing that is read is an answer. */
bool layout_one_question(const void *options);

/* ---- strings of symbols that are answered with a string of the same length ----------------- */

typedef struct {
    int64_t alphabet;
    bool repeats, slots;
} StringOptions;

#define STRING_OPTIONS(symbols, empty_slots)                                                       \
    {.name = "alphabet",                                                                           \
     .type = OPTION_INTEGER,                                                                       \
     .offset = offsetof(StringOptions, alphabet),                                                  \
     .fallback = (symbols),                                                                        \
     .min = 1,                                                                                     \
     .max = 65536,                                                                                 \
     .doc = "number of different symbols"},                                                        \
        {.name = "repeats",                                                                        \
         .type = OPTION_BOOLEAN,                                                                   \
         .offset = offsetof(StringOptions, repeats),                                               \
         .fallback = true,                                                                         \
         .doc = "false: no symbol occurs twice in a string (Zhou et al. 2023)"},                   \
        {.name = "slots",                                                                          \
         .type = OPTION_BOOLEAN,                                                                   \
         .offset = offsetof(StringOptions, slots),                                                 \
         .fallback = (empty_slots),                                                                \
         .doc = LAYOUT_SLOTS_DOC},                                                                 \
        {.name = NULL},

#define LAYOUT_SLOTS_DOC                                                                           \
    "true: answers are asked for at empty places after SEP and never read (Ruoss et al. 2023)"

int string_vocabulary(const void *options);
const char *string_refuse(const void *options, size_t length);
double string_chance(const void *options);
const char *string_token_text(const void *options, int32_t token, char text[32]);
bool string_masked(const void *options);

/* Draws the string into tokens[1 .. n] and puts the marks BOS and SEP around it. */
Layout string_draw(const void *options, Rng *rng, size_t length, Example *example);

/* Which symbol of the answer, from 0, is asked for at place t after a SEP at place `separator`;
   SIZE_MAX: none. */
size_t string_asked(const void *options, size_t separator, size_t t);

#endif
