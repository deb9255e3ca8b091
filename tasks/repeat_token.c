/* BOS x x .. x SEP x x .. x EOS: one symbol n times, to be said n times. What is said is easy, when
   to stop is the task: it has to be counted. */
#include "tasks/layout.h"

typedef struct {
    int64_t alphabet;
} RepeatTokenOptions;

static const Option repeat_token_options[] = {
    {.name = "alphabet",
     .type = OPTION_INTEGER,
     .offset = offsetof(RepeatTokenOptions, alphabet),
     .fallback = 32,
     .min = 1,
     .max = 65536,
     .doc = "number of different symbols; an example has one of them"},
    {.name = NULL},
};

static int repeat_token_vocabulary(const void *options) {
    const RepeatTokenOptions *o = options;
    return LAYOUT_SYMBOLS + (int)o->alphabet;
}

static const char *repeat_token_refuse(const void *options, size_t length) {
    (void)options;
    return length < 4 ? "needs at least 4 tokens (BOS, a symbol, SEP, the symbol)" : NULL;
}

/* To say x once more, one more x than was said has to stand in front of SEP: the place that tells
   is found by counting back from there. EOS needs to see that BOS is next. */
static void repeat_token_generate(const void *options, Rng *rng, size_t length, Example *example) {
    const RepeatTokenOptions *o = options;
    const size_t n = (length - 2) / 2, first = n + 1;
    const int32_t symbol = LAYOUT_SYMBOLS + (int32_t)rng_below(rng, (uint64_t)o->alphabet);
    example->tokens[0] = LAYOUT_BOS;
    for (size_t i = 1; i <= n; i++) example->tokens[i] = symbol;
    for (size_t j = 0; j <= n; j++) layout_answer(example, first + j, n - j);
    layout_finish(&(Layout){.input = n, .output = n}, length, example);
}

static double repeat_token_chance(const void *options) {
    (void)options;
    return 0.5; /* once more, or the end */
}

static const char *repeat_token_text(const void *options, int32_t token, char text[32]) {
    (void)options;
    return layout_text(token, text);
}

static int32_t repeat_token_solve(const void *options, const int32_t *tokens, size_t t) {
    (void)options;
    const size_t separator = layout_separator(tokens, t);
    if (separator > t || separator < 2) return -1;
    const size_t said = t - separator;
    const int32_t symbol = tokens[separator - 1];
    size_t count = 0;
    while (count < separator && tokens[separator - 1 - count] == symbol) count++;
    return said < count ? symbol : said == count ? LAYOUT_EOS : -1;
}

const Task task_repeat_token = {
    .name = "repeat_token",
    .summary = "one symbol stands there n times: say it n times, then end",
    .source = "Kazemnejad et al. 2023 (arXiv:2305.19466), copy of a repeated token (\"rsc\" in the "
              "released configs); here one length a batch and no padding",
    .options = repeat_token_options,
    .options_size = sizeof(RepeatTokenOptions),
    .vocabulary = repeat_token_vocabulary,
    .refuse = repeat_token_refuse,
    .generate = repeat_token_generate,
    .chance = repeat_token_chance,
    .token_text = repeat_token_text,
    .solve = repeat_token_solve,
};
