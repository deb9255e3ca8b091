/* BOS, random symbols with one KEY somewhere among them, KEY again as the last token: the answer is
   the symbol that followed the first KEY. */
#include "tasks/layout.h"

#include <string.h>

enum { BOS, KEY, SYMBOLS };

typedef struct {
    int64_t vocabulary;
} InductionOptions;

static const Option induction_options[] = {
    {.name = "vocabulary",
     .type = OPTION_INTEGER,
     .offset = offsetof(InductionOptions, vocabulary),
     .fallback = 16,
     .min = 2,
     .max = 65536,
     .doc = "number of different symbols, BOS and KEY not counted"},
    {.name = NULL},
};

static int induction_vocabulary(const void *options) {
    const InductionOptions *o = options;
    return SYMBOLS + (int)o->vocabulary;
}

static const char *induction_refuse(const void *options, size_t length) {
    (void)options;
    return length < 4 ? "needs at least 4 tokens (BOS, KEY, a symbol, KEY)" : NULL;
}

static void induction_generate(const void *options, Rng *rng, size_t length, Example *example) {
    const InductionOptions *o = options;
    int32_t *tokens = example->tokens;
    size_t last = length - 1, first = 1 + rng_below(rng, length - 3);
    for (size_t t = 1; t < last; t++)
        tokens[t] = SYMBOLS + (int32_t)rng_below(rng, (uint64_t)o->vocabulary);
    tokens[0] = BOS;
    tokens[first] = tokens[last] = KEY;

    layout_question(example, length, last, first, tokens[first + 1]);
}

static double induction_chance(const void *options) {
    const InductionOptions *o = options;
    return 1.0 / (double)o->vocabulary;
}

static const char *induction_token_text(const void *options, int32_t token, char text[32]) {
    static const char *const names[SYMBOLS] = {"BOS", "KEY"};
    (void)options;
    return token < SYMBOLS ? strcpy(text, names[token]) : task_symbol(token - SYMBOLS, text);
}

static int32_t induction_solve(const void *options, const int32_t *tokens, size_t t) {
    (void)options;
    size_t first = 0;
    while (tokens[first] != KEY) first++;
    return first < t ? tokens[first + 1] : -1;
}

const Task task_induction = {
    .name = "induction",
    .summary = "name the symbol that followed the special token when it was last seen",
    .source = "Gu and Dao 2023 (arXiv:2312.00752), section 4.1.2 and table 11; here with BOS",
    .options = induction_options,
    .options_size = sizeof(InductionOptions),
    .vocabulary = induction_vocabulary,
    .refuse = induction_refuse,
    .generate = induction_generate,
    .chance = induction_chance,
    .token_text = induction_token_text,
    .masked = layout_one_question,
    .solve = induction_solve,
};
