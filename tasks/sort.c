/* BOS x1 .. xn SEP y1 .. yn EOS, where y is x in rising order. Any symbol of the input could move
   every answer, so all of them are needed at each place, from x1 on. */
#include "tasks/sort.h"

#include <stdlib.h>
#include <string.h>

static const Option sort_options[] = {STRING_OPTIONS(64, false)};

static int compare_symbols(const void *a, const void *b) {
    return *(const int32_t *)a - *(const int32_t *)b;
}

void sort_generate(const void *options, Rng *rng, size_t length, Example *example) {
    const Layout layout = string_draw(options, rng, length, example);
    const size_t first = layout_first(&layout), n = layout.input;
    int32_t *answers = example->targets + first;
    memcpy(answers, example->tokens + 1, n * sizeof *answers);
    qsort(answers, n, sizeof *answers, compare_symbols);
    for (size_t t = first; t < first + layout_scored(&layout); t++)
        example->distance[t] = (int32_t)(t - 1);
    layout_finish(&layout, length, example);
}

/* The symbol that has at most j smaller ones, and more than j that are smaller or equal. */
int32_t sort_solve(const void *options, const int32_t *tokens, size_t t) {
    const size_t separator = layout_separator(tokens, t), j = string_asked(options, separator, t);
    if (j == separator - 1) return LAYOUT_EOS;
    for (size_t i = 1; j < separator && i < separator; i++) {
        size_t smaller = 0, equal = 0;
        for (size_t k = 1; k < separator; k++) {
            smaller += tokens[k] < tokens[i];
            equal += tokens[k] == tokens[i];
        }
        if (smaller <= j && j < smaller + equal) return tokens[i];
    }
    return -1;
}

const Task task_sort = {
    .name = "sort",
    .summary = "say the symbols of a string in rising order",
    .source = "Zhou et al. 2023 (arXiv:2310.16028), sort (repeats = false); Kazemnejad et al. 2023 "
              "(arXiv:2305.19466), sorting of single tokens; here one length a batch",
    .options = sort_options,
    .options_size = sizeof(StringOptions),
    .vocabulary = string_vocabulary,
    .refuse = string_refuse,
    .generate = sort_generate,
    .chance = string_chance,
    .token_text = string_token_text,
    .masked = string_masked,
    .solve = sort_solve,
};
