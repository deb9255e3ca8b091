/* BOS x1 .. xn QUERY k: the answer, at k, is xk, or the kth symbol from the end. k is a token. */
#include "tasks/layout.h"

#include <stdio.h>
#include <string.h>

enum { BOS, QUERY, INDICES }; /* k = 1 .. indices, then symbols, follow */
enum { FROM_START, FROM_END }; /* words of `from` */

typedef struct {
    int from;
    int64_t indices, alphabet;
} NthTokenOptions;

static const Option nth_token_options[] = {
    {.name = "from",
     .type = OPTION_CHOICE,
     .offset = offsetof(NthTokenOptions, from),
     .fallback = FROM_START,
     .words = "start|end",
     .doc = "where k is counted from; k = 1 is the first, or the last, symbol"},
    {.name = "indices",
     .type = OPTION_INTEGER,
     .offset = offsetof(NthTokenOptions, indices),
     .fallback = 64,
     .min = 2,
     .max = 65536,
     .doc = "largest k; a longer string is asked only that far"},
    {.name = "alphabet",
     .type = OPTION_INTEGER,
     .offset = offsetof(NthTokenOptions, alphabet),
     .fallback = 16,
     .min = 2,
     .max = 65536,
     .doc = "number of different symbols"},
    {.name = NULL},
};

static int32_t first_symbol(const NthTokenOptions *o) {
    return INDICES + (int32_t)o->indices;
}

static int nth_token_vocabulary(const void *options) {
    const NthTokenOptions *o = options;
    return first_symbol(o) + (int)o->alphabet;
}

static const char *nth_token_refuse(const void *options, size_t length) {
    (void)options;
    return length < 4 ? "needs at least 4 tokens (BOS, a symbol, QUERY, 1)" : NULL;
}

static void nth_token_generate(const void *options, Rng *rng, size_t length, Example *example) {
    const NthTokenOptions *o = options;
    const size_t n = length - 3, last = length - 1;
    const size_t k = 1 + rng_below(rng, least(n, (size_t)o->indices));
    const size_t place = o->from == FROM_START ? k : n + 1 - k;
    int32_t *tokens = example->tokens;
    tokens[0] = BOS;
    for (size_t i = 1; i <= n; i++)
        tokens[i] = first_symbol(o) + (int32_t)rng_below(rng, (uint64_t)o->alphabet);
    tokens[n + 1] = QUERY;
    tokens[last] = INDICES + (int32_t)k - 1;
    layout_question(example, length, last, place, tokens[place]);
}

static double nth_token_chance(const void *options) {
    return 1.0 / (double)((const NthTokenOptions *)options)->alphabet;
}

static const char *nth_token_text(const void *options, int32_t token, char text[32]) {
    const NthTokenOptions *o = options;
    if (token < INDICES) return strcpy(text, token == BOS ? "BOS" : "QUERY");
    if (token >= first_symbol(o)) return task_symbol(token - first_symbol(o), text);
    snprintf(text, 32, "[%d]", token - INDICES + 1);
    return text;
}

static int32_t nth_token_solve(const void *options, const int32_t *tokens, size_t t) {
    const NthTokenOptions *o = options;
    size_t query = 1;
    while (query < t && tokens[query] != QUERY) query++;
    if (query == t) return -1;
    const size_t k = (size_t)(tokens[t] - INDICES + 1);
    return k < query ? tokens[o->from == FROM_START ? k : query - k] : -1;
}

const Task task_nth_token = {
    .name = "nth_token",
    .summary = "name the kth symbol of a string, counted from its start or from its end",
    .source = "no paper; the question that absolute positions answer from the start and relative "
              "ones from the end",
    .options = nth_token_options,
    .options_size = sizeof(NthTokenOptions),
    .vocabulary = nth_token_vocabulary,
    .refuse = nth_token_refuse,
    .generate = nth_token_generate,
    .chance = nth_token_chance,
    .token_text = nth_token_text,
    .masked = layout_one_question,
    .solve = nth_token_solve,
};
