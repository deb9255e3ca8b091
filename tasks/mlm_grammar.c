/* BOS and random symbols with one KEY token in the first half; some symbols behind it are to be
   found again from their context, as BERT finds words. A symbol has three features of `values`
   values each; a scored one agrees in the first with the symbol to its left, in the second with the
   one to its right, in the third with the KEY. At 80 % of these places the model reads MASK, at
   10 % a random symbol, at 10 % the symbol itself. Their neighbours are never among them, so every
   answer follows from what is read. */
#include "tasks/task.h"

#include <stdio.h>
#include <string.h>

enum { BOS, MASK, KEYS }; /* a KEY of each value, then symbols, follow */
enum { PERCENT = 15 };    /* of the tokens that are scored */

typedef struct {
    int64_t values;
} MlmGrammarOptions;

static const Option mlm_grammar_options[] = {
    {.name = "values",
     .type = OPTION_INTEGER,
     .offset = offsetof(MlmGrammarOptions, values),
     .fallback = 4,
     .min = 2,
     .max = 26,
     .doc = "number of values of each of the three features; there are values^3 symbols"},
    {.name = NULL},
};

static int32_t values_of(const void *options) {
    return (int32_t)((const MlmGrammarOptions *)options)->values;
}

static int mlm_grammar_vocabulary(const void *options) {
    const int n = values_of(options);
    return KEYS + n + n * n * n;
}

static const char *mlm_grammar_refuse(const void *options, size_t length) {
    (void)options;
    return length < 5 ? "needs at least 5 tokens (BOS, KEY, a symbol, MASK, a symbol)" : NULL;
}

/* The symbol that agrees with its neighbours and with the KEY. */
static int32_t agreeing(int32_t n, int32_t left, int32_t right, int32_t key) {
    const int32_t symbols = KEYS + n;
    const int32_t first = (left - symbols) / (n * n), second = (right - symbols) / n % n;
    return symbols + (first * n + second) * n + (key - KEYS);
}

static void mlm_grammar_generate(const void *options, Rng *rng, size_t length, Example *example) {
    const int32_t n = values_of(options), symbols = KEYS + n;
    const uint64_t kinds = (uint64_t)n * (uint64_t)n * (uint64_t)n;
    int32_t *tokens = example->tokens;
    /* The KEY leaves room for the first scored place, which is at least 2 behind it. */
    const size_t key = 1 + rng_below(rng, least(length / 2, length - 4));
    for (size_t t = 1; t < length; t++) tokens[t] = symbols + (int32_t)rng_below(rng, kinds);
    tokens[0] = BOS;
    tokens[key] = KEYS + (int32_t)rng_below(rng, (uint64_t)n);
    memset(example->targets, 0, length * sizeof *example->targets);
    memset(example->distance, 0, length * sizeof *example->distance);
    memset(example->scored, 0, length);

    /* `count` of the places key + 2 … length - 2, no two of them neighbours, every choice equally
       likely: each but the last of them takes the place behind it along. */
    const size_t count = most(1, length * PERCENT / 100);
    size_t left = length - 3 - key - (count - 1);
    for (size_t t = key + 2, wanted = count; wanted; t++, left--) {
        if (rng_below(rng, left) >= wanted) continue;
        example->scored[t] = 1;
        wanted--;
        t++;
    }
    for (size_t t = key + 2; t + 1 < length; t++) {
        if (!example->scored[t]) continue;
        example->targets[t] = agreeing(n, tokens[t - 1], tokens[t + 1], tokens[key]);
        example->distance[t] = (int32_t)(t - key);
        const uint64_t fate = rng_below(rng, 10);
        if (fate < 8) tokens[t] = MASK;
        else if (fate == 8) tokens[t] = example->targets[t];
        /* otherwise the random symbol that stands there */
    }
}

static double mlm_grammar_chance(const void *options) {
    const double n = values_of(options);
    return 1 / (n * n * n);
}

static const char *mlm_grammar_token_text(const void *options, int32_t token, char text[32]) {
    const int32_t n = values_of(options);
    if (token < KEYS) return strcpy(text, token == BOS ? "BOS" : "MASK");
    if (token < KEYS + n) {
        snprintf(text, 32, "KEY%c", 'a' + token - KEYS);
        return text;
    }
    const int32_t symbol = token - KEYS - n;
    snprintf(text, 32, "%c%c%c", 'a' + symbol / (n * n), 'a' + symbol / n % n, 'a' + symbol % n);
    return text;
}

static bool mlm_grammar_masked(const void *options) {
    (void)options;
    return true;
}

static int32_t mlm_grammar_solve(const void *options, const int32_t *tokens, size_t t) {
    const int32_t n = values_of(options);
    for (size_t key = 1; key < t; key++)
        if (tokens[key] >= KEYS && tokens[key] < KEYS + n)
            return agreeing(n, tokens[t - 1], tokens[t + 1], tokens[key]);
    return -1;
}

const Task task_mlm_grammar = {
    .name = "mlm_grammar",
    .summary = "masked tokens: find the symbol that agrees with its neighbours and with a key",
    .source = "masking of Devlin et al. 2019 (BERT, arXiv:1810.04805), section 3.1, 15 % of the "
              "tokens and 80/10/10; the grammar is made for this program, and no two masked tokens "
              "are neighbours",
    .options = mlm_grammar_options,
    .options_size = sizeof(MlmGrammarOptions),
    .vocabulary = mlm_grammar_vocabulary,
    .refuse = mlm_grammar_refuse,
    .generate = mlm_grammar_generate,
    .chance = mlm_grammar_chance,
    .token_text = mlm_grammar_token_text,
    .masked = mlm_grammar_masked,
    .solve = mlm_grammar_solve,
};
