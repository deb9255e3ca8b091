#include "tasks/layout.h"

#include <stdio.h>
#include <string.h>

void layout_finish(const Layout *layout, size_t length, Example *example) {
    const size_t first = layout_first(layout), end = first + layout_scored(layout);
    int32_t *tokens = example->tokens, *output = tokens + layout->input + 2;
    tokens[0] = LAYOUT_BOS;
    tokens[layout->input + 1] = LAYOUT_SEP;
    for (size_t j = 0; j < layout->output; j++)
        output[j] = layout->slot ? layout->slot : example->targets[first + j];
    for (size_t t = layout->input + 2 + layout->output; t < length; t++) tokens[t] = LAYOUT_EOS;
    if (!layout->slot) example->targets[end - 1] = LAYOUT_EOS;

    for (size_t t = 0; t < length; t++) {
        const bool scored = first <= t && t < end;
        example->scored[t] = scored;
        if (scored) continue;
        example->targets[t] = t < first ? tokens[t + 1] : 0;
        example->distance[t] = 0;
    }
}

size_t layout_separator(const int32_t *tokens, size_t t) {
    size_t place = 1;
    while (place <= t && tokens[place] != LAYOUT_SEP) place++;
    return place;
}

const char *layout_text(int32_t token, char text[32]) {
    static const char *const marks[LAYOUT_SYMBOLS] = {"BOS", "SEP", "EOS"};
    return token < LAYOUT_SYMBOLS ? strcpy(text, marks[token])
                                  : task_symbol(token - LAYOUT_SYMBOLS, text);
}

void layout_question(Example *example, size_t length, size_t t, size_t from, int32_t answer) {
    memset(example->scored, 0, length);
    memset(example->distance, 0, length * sizeof *example->distance);
    memcpy(example->targets, example->tokens + 1, (length - 1) * sizeof *example->tokens);
    example->targets[length - 1] = 0;
    example->targets[t] = answer;
    example->scored[t] = 1;
    example->distance[t] = (int32_t)(t - from);
}

bool layout_one_question(const void *options) {
    (void)options;
    return true;
}

/* ---- strings ------------------------------------------------------------------------------- */

int string_vocabulary(const void *options) {
    const StringOptions *o = options;
    return LAYOUT_SYMBOLS + (int)o->alphabet + o->slots;
}

static size_t string_length(size_t length) {
    return (length - 2) / 2;
}

const char *string_refuse(const void *options, size_t length) {
    static char reason[128];
    const StringOptions *o = options;
    if (length < 4) return "needs at least 4 tokens (BOS, a symbol, SEP, the symbol)";
    if (!o->repeats && string_length(length) > (size_t)o->alphabet) {
        snprintf(reason, sizeof reason,
                 "repeats = false with alphabet = %lld has at most 2 * %lld + 3 = %lld tokens",
                 (long long)o->alphabet, (long long)o->alphabet, 2 * (long long)o->alphabet + 3);
        return reason;
    }
    return NULL;
}

double string_chance(const void *options) {
    const StringOptions *o = options;
    return 1.0 / (double)(o->alphabet + !o->slots); /* a symbol, or EOS where it is asked for */
}

const char *string_token_text(const void *options, int32_t token, char text[32]) {
    const StringOptions *o = options;
    return token == LAYOUT_SYMBOLS + o->alphabet ? strcpy(text, "_") : layout_text(token, text);
}

bool string_masked(const void *options) {
    return ((const StringOptions *)options)->slots;
}

Layout string_draw(const void *options, Rng *rng, size_t length, Example *example) {
    const StringOptions *o = options;
    const size_t n = string_length(length);
    int32_t *tokens = example->tokens, *string = tokens + 1;
    if (o->repeats)
        for (size_t i = 0; i < n; i++) string[i] = (int32_t)rng_below(rng, (uint64_t)o->alphabet);
    else
        rng_choose(rng, n, (size_t)o->alphabet, string);
    for (size_t i = 0; i < n; i++) string[i] += LAYOUT_SYMBOLS;
    tokens[0] = LAYOUT_BOS;
    tokens[n + 1] = LAYOUT_SEP;
    return (Layout){n, n, o->slots ? LAYOUT_SYMBOLS + (int32_t)o->alphabet : 0};
}

size_t string_asked(const void *options, size_t separator, size_t t) {
    const size_t first = separator + ((const StringOptions *)options)->slots;
    return t < first ? SIZE_MAX : t - first;
}
