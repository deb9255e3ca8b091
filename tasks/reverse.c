/* BOS x1 .. xn SEP xn .. x1 EOS: the answer moves away from its place by two tokens a step. */
#include "tasks/layout.h"

static const Option reverse_options[] = {STRING_OPTIONS(32, false)};

static void reverse_generate(const void *options, Rng *rng, size_t length, Example *example) {
    const Layout layout = string_draw(options, rng, length, example);
    const size_t first = layout_first(&layout);
    for (size_t j = 0; j < layout_scored(&layout); j++) /* the last: EOS, from BOS */
        layout_answer(example, first + j, layout.input - j);
    layout_finish(&layout, length, example);
}

static int32_t reverse_solve(const void *options, const int32_t *tokens, size_t t) {
    const size_t separator = layout_separator(tokens, t), j = string_asked(options, separator, t);
    if (j >= separator) return -1;
    int32_t next = tokens[separator - 1 - j];
    return next == LAYOUT_BOS ? LAYOUT_EOS : next;
}

const Task task_reverse = {
    .name = "reverse",
    .summary = "say a string of symbols from its end to its start",
    .source = "Kazemnejad et al. 2023 (arXiv:2305.19466), appendix D; with slots Ruoss et al. 2023 "
              "(arXiv:2305.16843), reverse string; here one length a batch and no padding",
    .options = reverse_options,
    .options_size = sizeof(StringOptions),
    .vocabulary = string_vocabulary,
    .refuse = string_refuse,
    .generate = reverse_generate,
    .chance = string_chance,
    .token_text = string_token_text,
    .masked = string_masked,
    .solve = reverse_solve,
};
