/* BOS a + b SEP s EOS, where a and b are numbers of d decimal digits and s is their sum with d + 1,
   zeros in front included. Highest digits come first, or with reversed = true lowest, so that a
   carry moves the way the digits are said. */
#include "tasks/layout.h"

#include <stdio.h>
#include <string.h>

enum { ZERO = LAYOUT_SYMBOLS, PLUS = ZERO + 10, VOCABULARY };

typedef struct {
    bool reversed;
} AdditionOptions;

static const Option addition_options[] = {
    {.name = "reversed",
     .type = OPTION_BOOLEAN,
     .offset = offsetof(AdditionOptions, reversed),
     .fallback = false,
     .doc = "true: all three numbers start with their lowest digit (Zhou et al. 2024)"},
    {.name = NULL},
};

static int addition_vocabulary(const void *options) {
    (void)options;
    return VOCABULARY;
}

static const char *addition_refuse(const void *options, size_t length) {
    (void)options;
    return length < 7 ? "needs at least 7 tokens (BOS, 1 digit, +, 1 digit, SEP, 2 digits)" : NULL;
}

/* Which digit of a or b, in the order in which they are said, stands in line with digit j of the
   sum, which has one more: -1 or d, where it has no partner. */
static int64_t column(const AdditionOptions *o, size_t j) {
    return (int64_t)j - !o->reversed;
}

static void addition_generate(const void *options, Rng *rng, size_t length, Example *example) {
    const AdditionOptions *o = options;
    const size_t digits = (length - 4) / 3, plus = digits + 1;
    const Layout layout = {.input = 2 * digits + 1, .output = digits + 1};
    const size_t first = layout_first(&layout);
    int32_t *tokens = example->tokens, *a = tokens + 1, *b = tokens + plus + 1;
    for (size_t i = 0; i < digits; i++) {
        a[i] = ZERO + (int32_t)rng_below(rng, 10);
        b[i] = ZERO + (int32_t)rng_below(rng, 10);
    }
    tokens[plus] = PLUS;

    int32_t carry = 0, *sum = example->targets + first;
    for (size_t k = 0; k <= digits; k++) { /* from the lowest digit on */
        const size_t j = o->reversed ? k : digits - k;
        const int64_t i = column(o, j);
        const int32_t here = k < digits ? a[i] - ZERO + b[i] - ZERO + carry : carry;
        sum[j] = ZERO + here % 10;
        carry = here / 10;
        /* Its own digits and, for the carry, lower ones, the nearest of which tell: a carry came
           from them if the digit said of them is not their sum. */
        const int64_t farthest = o->reversed ? i - 1 : i;
        const size_t from = farthest < 0 ? 1 : 1 + (size_t)farthest;
        example->distance[first + j] = (int32_t)(first + j - from);
    }
    example->distance[first + digits + 1] = (int32_t)(digits + 1); /* EOS: back to SEP */
    layout_finish(&layout, length, example);
}

static double addition_chance(const void *options) {
    (void)options;
    return 1.0 / 11; /* a digit or EOS */
}

static const char *addition_token_text(const void *options, int32_t token, char text[32]) {
    (void)options;
    if (token < ZERO) return layout_text(token, text);
    snprintf(text, 32, "%c", token == PLUS ? '+' : '0' + token - ZERO);
    return text;
}

/* The sum of both digits in a column; -1 where they are none. */
static int32_t column_sum(const int32_t *a, const int32_t *b, int64_t i) {
    const bool numbers = a[i] >= ZERO && a[i] < PLUS && b[i] >= ZERO && b[i] < PLUS;
    return numbers ? a[i] - ZERO + b[i] - ZERO : -1;
}

/* What lower digits carry into column i; -1 where they are no numbers. Reversed, one column tells:
   its sum and the digit that was said for it. Else columns of nines hand on what comes from the
   next. */
static int32_t carry_into(const AdditionOptions *o, const int32_t *a, const int32_t *b,
                          const int32_t *said, int64_t digits, int64_t i) {
    if (o->reversed) {
        if (i == 0) return 0;
        const int32_t sum = column_sum(a, b, i - 1);
        const int32_t before = (said[i - 1] - ZERO - sum + 20) % 10;
        return sum < 0 || before > 1 ? -1 : sum + before >= 10;
    }
    for (int64_t k = i + 1; k < digits; k++) {
        const int32_t sum = column_sum(a, b, k);
        if (sum != 9) return sum < 0 ? -1 : sum >= 10;
    }
    return 0;
}

static int32_t addition_solve(const void *options, const int32_t *tokens, size_t t) {
    const AdditionOptions *o = options;
    const size_t separator = layout_separator(tokens, t);
    if (separator > t || separator < 4) return -1;
    const int64_t digits = ((int64_t)separator - 2) / 2, j = (int64_t)(t - separator);
    if (j > digits) return LAYOUT_EOS;
    const int32_t *a = tokens + 1, *b = a + digits + 1;
    const int64_t i = column(o, (size_t)j);
    const int32_t carry = carry_into(o, a, b, tokens + separator + 1, digits, i);
    if (carry < 0 || i < 0 || i == digits) return carry < 0 ? -1 : ZERO + carry;
    const int32_t sum = column_sum(a, b, i);
    return sum < 0 ? -1 : ZERO + (sum + carry) % 10;
}

const Task task_addition = {
    .name = "addition",
    .summary = "add two numbers, digit by digit",
    .source = "Zhou et al. 2024 (arXiv:2402.09371); Cho et al. 2024 (arXiv:2405.20671); "
              "here numbers of one number of digits a batch, zeros in front, no index hints",
    .options = addition_options,
    .options_size = sizeof(AdditionOptions),
    .vocabulary = addition_vocabulary,
    .refuse = addition_refuse,
    .generate = addition_generate,
    .chance = addition_chance,
    .token_text = addition_token_text,
    .solve = addition_solve,
};
