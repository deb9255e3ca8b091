/* BOS w b i b r b ..: pairs of an instruction and a bit. w writes the bit, i says that the bit is
   to be ignored, r is followed by the bit that was written last, which is asked for at each r. The
   first instruction is w, the last r. */
#include "tasks/task.h"

#include <string.h>

enum { BOS, WRITE, READ, IGNORE, BIT, VOCABULARY = BIT + 2 };

typedef struct {
    double ignore;
} FlipFlopOptions;

static const Option flip_flop_options[] = {
    {.name = "ignore",
     .type = OPTION_NUMBER,
     .offset = offsetof(FlipFlopOptions, ignore),
     .fallback = 0.8,
     .min = 0,
     .max = 1,
     .doc = "probability of i; w and r share the rest (0.98: long relations, 0.1: short ones)"},
    {.name = NULL},
};

static int flip_flop_vocabulary(const void *options) {
    (void)options;
    return VOCABULARY;
}

static const char *flip_flop_refuse(const void *options, size_t length) {
    (void)options;
    return length < 4 ? "needs at least 4 tokens (BOS, w, a bit, r)" : NULL;
}

static int32_t instruction(const FlipFlopOptions *o, Rng *rng) {
    if (rng_uniform(rng) < o->ignore) return IGNORE;
    return rng_below(rng, 2) ? WRITE : READ;
}

static void flip_flop_generate(const void *options, Rng *rng, size_t length, Example *example) {
    const size_t last = (length - 2) / 2 * 2 + 1; /* the last instruction that fits */
    int32_t *tokens = example->tokens;
    size_t written = 1;
    tokens[0] = BOS;
    for (size_t t = 1; t < length; t += 2) {
        tokens[t] = t == 1 ? WRITE : t == last ? READ : instruction(options, rng);
        int32_t bit = BIT + (int32_t)rng_below(rng, 2);
        if (tokens[t] == WRITE) written = t;
        if (tokens[t] == READ) bit = tokens[written + 1];
        example->scored[t] = tokens[t] == READ;
        example->distance[t] = tokens[t] == READ ? (int32_t)(t - written) : 0;
        example->targets[t] = bit;
        if (t + 1 < length) tokens[t + 1] = bit;
    }
    for (size_t t = 0; t < length; t += 2) {
        example->scored[t] = 0;
        example->distance[t] = 0;
        example->targets[t] = t + 1 < length ? tokens[t + 1] : 0;
    }
}

static double flip_flop_chance(const void *options) {
    (void)options;
    return 0.5;
}

static const char *flip_flop_token_text(const void *options, int32_t token, char text[32]) {
    static const char *const names[VOCABULARY] = {"BOS", "w", "r", "i", "0", "1"};
    (void)options;
    return strcpy(text, names[token]);
}

static int32_t flip_flop_solve(const void *options, const int32_t *tokens, size_t t) {
    (void)options;
    while (t && tokens[t] != WRITE) t--;
    return t ? tokens[t + 1] : -1;
}

const Task task_flip_flop = {
    .name = "flip_flop",
    .summary = "bits are written, ignored and read: say at each read what was written last",
    .source = "Liu et al. 2023, FFL(p_i) (arXiv:2306.00946), section 3; here with BOS in front",
    .options = flip_flop_options,
    .options_size = sizeof(FlipFlopOptions),
    .vocabulary = flip_flop_vocabulary,
    .refuse = flip_flop_refuse,
    .generate = flip_flop_generate,
    .chance = flip_flop_chance,
    .token_text = flip_flop_token_text,
    .solve = flip_flop_solve,
};
