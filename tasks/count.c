/* BOS a=0 b=0 a++ pass b++ a=0 .. a?: a program of statements, one token each. The answer, at the
   last token, is the value of the variable that it asks for. */
#include "tasks/layout.h"

#include <stdio.h>
#include <string.h>

enum { BOS, PASS, STATEMENTS }; /* =0, ++ and ? of each variable, then values, follow */
enum { SET, INCREMENT, ASK, KINDS };

typedef struct {
    int64_t variables, largest, set, increment, pass;
} CountOptions;

static const Option count_options[] = {
    {.name = "variables",
     .type = OPTION_INTEGER,
     .offset = offsetof(CountOptions, variables),
     .fallback = 1,
     .min = 1,
     .max = 26,
     .doc = "number of variables; each is set once at the start"},
    {.name = "largest",
     .type = OPTION_INTEGER,
     .offset = offsetof(CountOptions, largest),
     .fallback = 10,
     .min = 1,
     .max = 65536,
     .doc = "largest value; where a variable has it, pass stands instead of an increment"},
    {.name = "set",
     .type = OPTION_INTEGER,
     .offset = offsetof(CountOptions, set),
     .fallback = 1,
     .min = 0,
     .max = 1000000,
     .doc = "weight of a statement that sets a variable to 0, in the draw of the next statement"},
    {.name = "increment",
     .type = OPTION_INTEGER,
     .offset = offsetof(CountOptions, increment),
     .fallback = 7,
     .min = 1,
     .max = 1000000,
     .doc = "weight of an increment"},
    {.name = "pass",
     .type = OPTION_INTEGER,
     .offset = offsetof(CountOptions, pass),
     .fallback = 50,
     .min = 0,
     .max = 1000000,
     .doc = "weight of pass, which does nothing"},
    {.name = NULL},
};

static int32_t statement(int32_t variable, int kind) {
    return STATEMENTS + KINDS * variable + kind;
}

static int32_t first_value(const CountOptions *o) {
    return statement((int32_t)o->variables, 0);
}

static int count_vocabulary(const void *options) {
    const CountOptions *o = options;
    return first_value(o) + (int)o->largest + 1;
}

static const char *count_refuse(const void *options, size_t length) {
    static char reason[64];
    const CountOptions *o = options;
    long long shortest = 3 + (long long)o->variables;
    if (length >= (size_t)shortest) return NULL;
    snprintf(reason, sizeof reason, "needs at least variables + 3 = %lld tokens", shortest);
    return reason;
}

/* The value of a variable after tokens[1 .. end-1], and where it was set last (0: nowhere). */
static int64_t value_of(const int32_t *tokens, size_t end, int32_t variable, size_t *set) {
    int64_t value = 0;
    *set = end;
    while (--*set && tokens[*set] != statement(variable, SET))
        value += tokens[*set] == statement(variable, INCREMENT);
    return value;
}

static int32_t draw(const CountOptions *o, Rng *rng, const int32_t *tokens, size_t t) {
    const int32_t variable = (int32_t)rng_below(rng, (uint64_t)o->variables);
    const int64_t drawn = (int64_t)rng_below(rng, (uint64_t)(o->set + o->increment + o->pass));
    size_t set;
    if (drawn < o->set) return statement(variable, SET);
    if (drawn >= o->set + o->increment) return PASS;
    const bool full = value_of(tokens, t, variable, &set) == o->largest;
    return full ? PASS : statement(variable, INCREMENT);
}

static void count_generate(const void *options, Rng *rng, size_t length, Example *example) {
    const CountOptions *o = options;
    const size_t last = length - 1, variables = (size_t)o->variables;
    int32_t *tokens = example->tokens;
    tokens[0] = BOS;
    for (size_t v = 0; v < variables; v++) tokens[1 + v] = statement((int32_t)v, SET);
    rng_shuffle(rng, tokens + 1, variables);
    for (size_t t = 1 + variables; t < last; t++) tokens[t] = draw(o, rng, tokens, t);
    const int32_t asked = (int32_t)rng_below(rng, variables);
    size_t set;
    const int64_t value = value_of(tokens, last, asked, &set);
    tokens[last] = statement(asked, ASK);
    layout_question(example, length, last, set, first_value(o) + (int32_t)value);
}

static double count_chance(const void *options) {
    const CountOptions *o = options;
    return 1.0 / (double)(o->largest + 1);
}

static const char *count_token_text(const void *options, int32_t token, char text[32]) {
    static const char *const kinds[KINDS] = {"=0", "++", "?"};
    const CountOptions *o = options;
    const int32_t statements = token - STATEMENTS;
    if (token < STATEMENTS) return strcpy(text, token == BOS ? "BOS" : "pass");
    if (token < first_value(o))
        snprintf(text, 32, "%c%s", 'a' + statements / KINDS, kinds[statements % KINDS]);
    else
        snprintf(text, 32, "%d", token - first_value(o));
    return text;
}

static int32_t count_solve(const void *options, const int32_t *tokens, size_t t) {
    const CountOptions *o = options;
    size_t set;
    const int64_t value = value_of(tokens, t, (tokens[t] - STATEMENTS) / KINDS, &set);
    return set ? first_value(o) + (int32_t)value : -1;
}

const Task task_count = {
    .name = "count",
    .summary = "variables are set to zero and incremented: say the value of one at the end",
    .source = "Golovneva et al. 2024, CoPE (arXiv:2405.18719), counting task; here a statement is "
              "one token, and every variable is set at the start",
    .options = count_options,
    .options_size = sizeof(CountOptions),
    .vocabulary = count_vocabulary,
    .refuse = count_refuse,
    .generate = count_generate,
    .chance = count_chance,
    .token_text = count_token_text,
    .masked = layout_one_question,
    .solve = count_solve,
};
