/* BOS x1 .. xn SEP x1 .. xn EOS. The context length decides n: the last token that is read is xn,
   or EOS when the length is odd. */
#include "tasks/task.h"

#include <stdio.h>
#include <string.h>

enum { BOS, SEP, EOS, SYMBOLS };

typedef struct {
    int64_t alphabet;
    bool repeats;
} CopyOptions;

static const Option copy_options[] = {
    {.name = "alphabet",
     .type = OPTION_INTEGER,
     .offset = offsetof(CopyOptions, alphabet),
     .fallback = 32,
     .min = 1,
     .max = 65536,
     .doc = "number of different symbols"},
    {.name = "repeats",
     .type = OPTION_BOOLEAN,
     .offset = offsetof(CopyOptions, repeats),
     .fallback = true,
     .doc = "false: no symbol occurs twice in a string (Zhou et al. 2023, unique copy)"},
    {.name = NULL},
};

static int copy_vocabulary(const void *options) {
    const CopyOptions *o = options;
    return SYMBOLS + (int)o->alphabet;
}

static size_t string_length(size_t length) {
    return (length - 2) / 2;
}

static const char *copy_refuse(const void *options, size_t length) {
    static char reason[128];
    const CopyOptions *o = options;
    if (length < 4) return "needs at least 4 tokens (BOS, a symbol, SEP, the symbol)";
    if (!o->repeats && string_length(length) > (size_t)o->alphabet) {
        snprintf(reason, sizeof reason,
                 "repeats = false with alphabet = %lld has at most 2 * %lld + 3 = %lld tokens",
                 (long long)o->alphabet, (long long)o->alphabet, 2 * (long long)o->alphabet + 3);
        return reason;
    }
    return NULL;
}

static void copy_generate(const void *options, Rng *rng, size_t length, Example *example) {
    const CopyOptions *o = options;
    size_t n = string_length(length), separator = n + 1, last = 2 * n + 1;
    int32_t *tokens = example->tokens, *string = tokens + 1;
    if (o->repeats)
        for (size_t i = 0; i < n; i++) string[i] = (int32_t)rng_below(rng, (uint64_t)o->alphabet);
    else
        rng_choose(rng, n, (size_t)o->alphabet, string);
    for (size_t i = 0; i < n; i++) string[i] += SYMBOLS;

    tokens[0] = BOS;
    tokens[separator] = SEP;
    memcpy(tokens + separator + 1, string, n * sizeof *string);
    if (last + 1 < length) tokens[last + 1] = EOS;

    for (size_t t = 0; t < length; t++) {
        bool scored = separator <= t && t <= last;
        example->scored[t] = scored;
        example->distance[t] = scored ? (int32_t)n : 0; /* to the symbol, or from xn to SEP */
        example->targets[t] = t < last ? tokens[t + 1] : t == last ? EOS : 0;
    }
}

static double copy_chance(const void *options) {
    const CopyOptions *o = options;
    return 1.0 / (double)(o->alphabet + 1); /* a symbol or EOS */
}

static const char *copy_token_text(const void *options, int32_t token, char text[32]) {
    static const char *const names[SYMBOLS] = {"BOS", "SEP", "EOS"};
    (void)options;
    return token < SYMBOLS ? strcpy(text, names[token]) : task_symbol(token - SYMBOLS, text);
}

static int32_t copy_solve(const void *options, const int32_t *tokens, size_t t) {
    (void)options;
    size_t separator = 1;
    while (separator <= t && tokens[separator] != SEP) separator++;
    if (separator > t) return -1;
    int32_t next = tokens[1 + t - separator]; /* t - separator symbols have been said */
    return next == SEP ? EOS : next;
}

const Task task_copy = {
    .name = "copy",
    .summary = "say a string of symbols again, in the same order, and end where it ended",
    .source = "Kazemnejad et al. 2023 (arXiv:2305.19466), appendix D; Jelassi et al. 2024 "
              "(arXiv:2402.01032), section 3; here one length a batch and no padding",
    .options = copy_options,
    .options_size = sizeof(CopyOptions),
    .vocabulary = copy_vocabulary,
    .refuse = copy_refuse,
    .generate = copy_generate,
    .chance = copy_chance,
    .token_text = copy_token_text,
    .solve = copy_solve,
};
