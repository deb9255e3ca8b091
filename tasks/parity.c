/* BOS b1 .. bn SEP: the answer, at SEP, is the sum of the bits modulo 2. Every bit is needed. */
#include "tasks/layout.h"

#include <stdio.h>
#include <string.h>

enum { SYMBOLS = LAYOUT_SYMBOLS, VOCABULARY = SYMBOLS + 2 };

static const Option parity_options[] = {{.name = NULL}};

static int parity_vocabulary(const void *options) {
    (void)options;
    return VOCABULARY;
}

static const char *parity_refuse(const void *options, size_t length) {
    (void)options;
    return length < 3 ? "needs at least 3 tokens (BOS, a bit, SEP)" : NULL;
}

static void parity_generate(const void *options, Rng *rng, size_t length, Example *example) {
    (void)options;
    const size_t separator = length - 1;
    int32_t sum = 0;
    for (size_t i = 1; i < separator; i++) {
        const int32_t bit = (int32_t)rng_below(rng, 2);
        example->tokens[i] = SYMBOLS + bit;
        sum ^= bit;
    }
    example->tokens[0] = LAYOUT_BOS;
    example->tokens[separator] = LAYOUT_SEP;
    layout_question(example, length, separator, 1, SYMBOLS + sum);
}

static double parity_chance(const void *options) {
    (void)options;
    return 0.5;
}

static const char *parity_token_text(const void *options, int32_t token, char text[32]) {
    (void)options;
    if (token < SYMBOLS) return layout_text(token, text);
    return strcpy(text, token == SYMBOLS ? "0" : "1");
}

static int32_t parity_solve(const void *options, const int32_t *tokens, size_t t) {
    (void)options;
    size_t ones = 0;
    for (size_t i = 1; i < t; i++) {
        if (tokens[i] < SYMBOLS) return -1;
        ones += tokens[i] == SYMBOLS + 1;
    }
    return SYMBOLS + (int32_t)(ones % 2);
}

const Task task_parity = {
    .name = "parity",
    .summary = "say whether the number of ones in a string of bits is odd",
    .source = "Ruoss et al. 2023 (arXiv:2305.16843), parity; here with BOS, and the answer is "
              "asked for at SEP",
    .options = parity_options,
    .options_size = 0,
    .vocabulary = parity_vocabulary,
    .refuse = parity_refuse,
    .generate = parity_generate,
    .chance = parity_chance,
    .token_text = parity_token_text,
    .masked = layout_one_question,
    .solve = parity_solve,
};
