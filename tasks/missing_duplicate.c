/* BOS x1 .. xh x1 .. xh SEP, where one of the 2 h symbols is a blank: the answer, at SEP, is the
   symbol that it hides. Its twin tells, h places before or behind. */
#include "tasks/layout.h"

#include <string.h>

typedef struct {
    int64_t alphabet;
} MissingDuplicateOptions;

static const Option missing_duplicate_options[] = {
    {.name = "alphabet",
     .type = OPTION_INTEGER,
     .offset = offsetof(MissingDuplicateOptions, alphabet),
     .fallback = 2,
     .min = 2,
     .max = 65536,
     .doc = "number of different symbols, the blank not counted"},
    {.name = NULL},
};

static int32_t blank(const void *options) {
    return LAYOUT_SYMBOLS + (int32_t)((const MissingDuplicateOptions *)options)->alphabet;
}

static int missing_duplicate_vocabulary(const void *options) {
    return blank(options) + 1;
}

static const char *missing_duplicate_refuse(const void *options, size_t length) {
    (void)options;
    return length < 4 ? "needs at least 4 tokens (BOS, a symbol, its blank, SEP)" : NULL;
}

static void missing_duplicate_generate(const void *options, Rng *rng, size_t length,
                                       Example *example) {
    const size_t half = (length - 2) / 2, separator = 2 * half + 1;
    const uint64_t alphabet = (uint64_t)((const MissingDuplicateOptions *)options)->alphabet;
    int32_t *tokens = example->tokens;
    tokens[0] = LAYOUT_BOS;
    for (size_t i = 1; i <= half; i++)
        tokens[i] = tokens[i + half] = LAYOUT_SYMBOLS + (int32_t)rng_below(rng, alphabet);
    const size_t hidden = 1 + rng_below(rng, 2 * half);
    const size_t first = hidden > half ? hidden - half : hidden;
    const int32_t answer = tokens[hidden];
    tokens[hidden] = blank(options);
    tokens[separator] = LAYOUT_SEP;
    if (separator + 1 < length) tokens[separator + 1] = LAYOUT_EOS;
    layout_question(example, length, separator, first, answer);
}

static double missing_duplicate_chance(const void *options) {
    return 1.0 / (double)((const MissingDuplicateOptions *)options)->alphabet;
}

static const char *missing_duplicate_token_text(const void *options, int32_t token, char text[32]) {
    return token == blank(options) ? strcpy(text, "_") : layout_text(token, text);
}

static int32_t missing_duplicate_solve(const void *options, const int32_t *tokens, size_t t) {
    const size_t separator = layout_separator(tokens, t), half = (separator - 1) / 2;
    for (size_t i = 1; i < separator && separator <= t; i++)
        if (tokens[i] == blank(options)) return tokens[i > half ? i - half : i + half];
    return -1;
}

const Task task_missing_duplicate = {
    .name = "missing_duplicate",
    .summary = "a string stands there twice, one symbol of it is hidden: name the symbol",
    .source = "Ruoss et al. 2023 (arXiv:2305.16843), missing duplicate; here with BOS, the answer "
              "is asked for at SEP, and an odd context ends with EOS",
    .options = missing_duplicate_options,
    .options_size = sizeof(MissingDuplicateOptions),
    .vocabulary = missing_duplicate_vocabulary,
    .refuse = missing_duplicate_refuse,
    .generate = missing_duplicate_generate,
    .chance = missing_duplicate_chance,
    .token_text = missing_duplicate_token_text,
    .masked = layout_one_question,
    .solve = missing_duplicate_solve,
};
