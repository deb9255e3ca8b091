/* BOS x1 x2 ..: the answer at each place is the token a fixed number of steps back. */
#include "tasks/task.h"

#include <stdio.h>
#include <string.h>

enum { BOS, SYMBOLS };

typedef struct {
    int64_t back, alphabet;
} OffsetOptions;

static const Option offset_options[] = {
    {.name = "back",
     .type = OPTION_INTEGER,
     .offset = offsetof(OffsetOptions, back),
     .fallback = 4,
     .min = 1,
     .max = 65536,
     .doc = "how many tokens back the answer stands"},
    {.name = "alphabet",
     .type = OPTION_INTEGER,
     .offset = offsetof(OffsetOptions, alphabet),
     .fallback = 16,
     .min = 2,
     .max = 65536,
     .doc = "number of different symbols"},
    {.name = NULL},
};

static int offset_vocabulary(const void *options) {
    const OffsetOptions *o = options;
    return SYMBOLS + (int)o->alphabet;
}

static const char *offset_refuse(const void *options, size_t length) {
    static char reason[64];
    long long shortest = (long long)((const OffsetOptions *)options)->back + 2;
    if (length >= (size_t)shortest) return NULL;
    snprintf(reason, sizeof reason, "needs at least back + 2 = %lld tokens", shortest);
    return reason;
}

static void offset_generate(const void *options, Rng *rng, size_t length, Example *example) {
    const OffsetOptions *o = options;
    const size_t back = (size_t)o->back;
    int32_t *tokens = example->tokens;
    tokens[0] = BOS;
    for (size_t t = 1; t < length; t++)
        tokens[t] = SYMBOLS + (int32_t)rng_below(rng, (uint64_t)o->alphabet);
    for (size_t t = 0; t < length; t++) {
        const bool scored = t > back;
        example->scored[t] = scored;
        example->distance[t] = scored ? (int32_t)back : 0;
        example->targets[t] = scored ? tokens[t - back] : tokens[t + 1];
    }
}

static double offset_chance(const void *options) {
    return 1.0 / (double)((const OffsetOptions *)options)->alphabet;
}

static const char *offset_token_text(const void *options, int32_t token, char text[32]) {
    (void)options;
    return token == BOS ? strcpy(text, "BOS") : task_symbol(token - SYMBOLS, text);
}

static bool offset_masked(const void *options) {
    (void)options;
    return true; /* no answer stands behind its place: what does is drawn without regard to it */
}

static int32_t offset_solve(const void *options, const int32_t *tokens, size_t t) {
    const size_t back = (size_t)((const OffsetOptions *)options)->back;
    return t > back ? tokens[t - back] : -1;
}

const Task task_offset = {
    .name = "offset",
    .summary = "name at each place the token a fixed number of steps back",
    .source = "no paper: the smallest task that an order of tokens can have. With back = 1 one "
              "layer needs a head for the token before (Barbero et al. 2024, arXiv:2410.06205)",
    .options = offset_options,
    .options_size = sizeof(OffsetOptions),
    .vocabulary = offset_vocabulary,
    .refuse = offset_refuse,
    .generate = offset_generate,
    .chance = offset_chance,
    .token_text = offset_token_text,
    .masked = offset_masked,
    .solve = offset_solve,
};
