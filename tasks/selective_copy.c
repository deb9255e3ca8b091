/* BOS . x1 . . x2 . .. SEP x1 x2 .. EOS: symbols at random places among blanks, to be said in order
   without the blanks. */
#include "tasks/layout.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    int64_t symbols, alphabet;
    bool slots;
} SelectiveCopyOptions;

static const Option selective_copy_options[] = {
    {.name = "symbols",
     .type = OPTION_INTEGER,
     .offset = offsetof(SelectiveCopyOptions, symbols),
     .fallback = 16,
     .min = 1,
     .max = 65536,
     .doc = "symbols in an example, whatever its length"},
    {.name = "alphabet",
     .type = OPTION_INTEGER,
     .offset = offsetof(SelectiveCopyOptions, alphabet),
     .fallback = 16,
     .min = 1,
     .max = 65536,
     .doc = "number of different symbols, the blank not counted"},
    {.name = "slots",
     .type = OPTION_BOOLEAN,
     .offset = offsetof(SelectiveCopyOptions, slots),
     .fallback = true,
     .doc = LAYOUT_SLOTS_DOC},
    {.name = NULL},
};

static int32_t blank(const SelectiveCopyOptions *o) {
    return LAYOUT_SYMBOLS + (int32_t)o->alphabet;
}

static int selective_copy_vocabulary(const void *options) {
    const SelectiveCopyOptions *o = options;
    return blank(o) + 1 + o->slots;
}

static const char *selective_copy_refuse(const void *options, size_t length) {
    static char reason[64];
    const SelectiveCopyOptions *o = options;
    long long shortest = 2 * (long long)o->symbols + 2;
    if (length >= (size_t)shortest) return NULL;
    snprintf(reason, sizeof reason, "needs at least 2 * symbols + 2 = %lld tokens", shortest);
    return reason;
}

static void selective_copy_generate(const void *options, Rng *rng, size_t length,
                                    Example *example) {
    const SelectiveCopyOptions *o = options;
    const size_t symbols = (size_t)o->symbols, separator = length - symbols - 1;
    const Layout layout = {separator - 1, symbols, o->slots ? blank(o) + 1 : 0};
    const size_t first = layout_first(&layout);
    size_t found = 0;
    for (size_t i = 1; i < separator; i++) { /* every choice of places is equally likely */
        const bool chosen = rng_below(rng, separator - i) < symbols - found;
        example->tokens[i] =
            chosen ? LAYOUT_SYMBOLS + (int32_t)rng_below(rng, (uint64_t)o->alphabet) : blank(o);
        if (chosen) layout_answer(example, first + found++, i);
    }
    if (!o->slots) layout_answer(example, first + symbols, separator); /* EOS */
    layout_finish(&layout, length, example);
}

static double selective_copy_chance(const void *options) {
    const SelectiveCopyOptions *o = options;
    return 1.0 / (double)(o->alphabet + !o->slots);
}

static const char *selective_copy_token_text(const void *options, int32_t token, char text[32]) {
    const SelectiveCopyOptions *o = options;
    if (token < blank(o)) return layout_text(token, text);
    return strcpy(text, token == blank(o) ? "." : "_");
}

static bool selective_copy_masked(const void *options) {
    return ((const SelectiveCopyOptions *)options)->slots;
}

/* Counts from SEP back: there are always `symbols` of them. */
static int32_t selective_copy_solve(const void *options, const int32_t *tokens, size_t t) {
    const SelectiveCopyOptions *o = options;
    const size_t separator = layout_separator(tokens, t), first = separator + o->slots;
    if (t < first || t - first > (size_t)o->symbols) return -1;
    size_t left = (size_t)o->symbols - (t - first);
    if (!left) return LAYOUT_EOS;
    for (size_t i = separator; i-- > 1;)
        if (tokens[i] != blank(o) && !--left) return tokens[i];
    return -1;
}

const Task task_selective_copy = {
    .name = "selective_copy",
    .summary = "say the symbols that stand among blanks, in order and without the blanks",
    .source = "Gu and Dao 2023 (arXiv:2312.00752), section 4.1.1; here with BOS and SEP, and with "
              "slots = false the answers are read and an end mark is asked for",
    .options = selective_copy_options,
    .options_size = sizeof(SelectiveCopyOptions),
    .vocabulary = selective_copy_vocabulary,
    .refuse = selective_copy_refuse,
    .generate = selective_copy_generate,
    .chance = selective_copy_chance,
    .token_text = selective_copy_token_text,
    .masked = selective_copy_masked,
    .solve = selective_copy_solve,
};
