/* BOS x1 .. xn SEP x1 .. xn EOS. The context length decides n: the last token that is read is xn,
   or EOS when the length is odd. */
#include "tasks/layout.h"

static const Option copy_options[] = {STRING_OPTIONS(32, false)};

static void copy_generate(const void *options, Rng *rng, size_t length, Example *example) {
    const Layout layout = string_draw(options, rng, length, example);
    const size_t first = layout_first(&layout);
    for (size_t j = 0; j < layout_scored(&layout); j++) /* the last: EOS, from SEP */
        layout_answer(example, first + j, 1 + j);
    layout_finish(&layout, length, example);
}

static int32_t copy_solve(const void *options, const int32_t *tokens, size_t t) {
    const size_t separator = layout_separator(tokens, t), j = string_asked(options, separator, t);
    if (j > separator) return -1;
    int32_t next = tokens[1 + j];
    return next == LAYOUT_SEP ? LAYOUT_EOS : next;
}

const Task task_copy = {
    .name = "copy",
    .summary = "say a string of symbols again, in the same order, and end where it ended",
    .source = "Kazemnejad et al. 2023 (arXiv:2305.19466), appendix D; Jelassi et al. 2024 "
              "(arXiv:2402.01032), section 3; here one length a batch and no padding",
    .options = copy_options,
    .options_size = sizeof(StringOptions),
    .vocabulary = string_vocabulary,
    .refuse = string_refuse,
    .generate = copy_generate,
    .chance = string_chance,
    .token_text = string_token_text,
    .masked = string_masked,
    .solve = copy_solve,
};
