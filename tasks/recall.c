/* BOS k1 v1 .. kK vK, then queries to the end of the context: keys of these pairs, drawn uniformly,
   each followed by its value. Scored are the places of the queried keys, where the answer is the
   value. A key that is asked for again can also be answered from its last query; with answers =
   false only the keys of the queries stand in the context, and every answer has to come from the
   pair. That form is much harder to learn.

   With gap > 0 each key is asked for once, g = 0, 1, .. cells of two tokens behind the pairs with
   P(g) ~ (g + 1)^(gap - 1), and fillers stand between. With updates some keys have a second pair,
   and the later one counts. */
#include "tasks/task.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BOS, KEYS }; /* keys, then values, then fillers, follow */

static const double SMALLEST_GAP = 0.001; /* below, powers of it cannot be told from 1 */

typedef struct {
    int64_t pairs, updates, keys, values, fillers;
    double gap;
    bool answers;
} RecallOptions;

static const Option recall_options[] = {
    {.name = "pairs",
     .type = OPTION_INTEGER,
     .offset = offsetof(RecallOptions, pairs),
     .fallback = 8,
     .min = 2,
     .max = 65536,
     .doc = "key-value pairs at the start of the context"},
    {.name = "updates",
     .type = OPTION_INTEGER,
     .offset = offsetof(RecallOptions, updates),
     .fallback = 0,
     .min = 0,
     .max = 65536,
     .doc = "keys that have a second pair, with another value, which is the one that counts"},
    {.name = "keys",
     .type = OPTION_INTEGER,
     .offset = offsetof(RecallOptions, keys),
     .fallback = 128,
     .min = 2,
     .max = 65536,
     .doc = "number of different keys; an example uses `pairs` of them"},
    {.name = "values",
     .type = OPTION_INTEGER,
     .offset = offsetof(RecallOptions, values),
     .fallback = 128,
     .min = 2,
     .max = 65536,
     .doc = "number of different values; an example uses `pairs` + `updates` of them"},
    {.name = "answers",
     .type = OPTION_BOOLEAN,
     .offset = offsetof(RecallOptions, answers),
     .fallback = 1,
     .doc = "the value follows each queried key; false: queries are keys alone, so that no answer "
            "can be read off an earlier query"},
    {.name = "gap",
     .type = OPTION_NUMBER,
     .offset = offsetof(RecallOptions, gap),
     .fallback = 0,
     .min = 0,
     .max = 1,
     .doc = "exponent of the gap law; each key is then asked for once (Arora et al. 2023: 0.01); "
            "0: queries to the end, any key each time"},
    {.name = "fillers",
     .type = OPTION_INTEGER,
     .offset = offsetof(RecallOptions, fillers),
     .fallback = 0,
     .min = 0,
     .max = 65536,
     .doc = "number of different tokens between the queries, apart from keys and values; at least "
            "1 with gap, else 0"},
    {.name = NULL},
};

static int32_t first_value(const RecallOptions *o) {
    return KEYS + (int32_t)o->keys;
}

static int32_t first_filler(const RecallOptions *o) {
    return first_value(o) + (int32_t)o->values;
}

static int recall_vocabulary(const void *options) {
    const RecallOptions *o = options;
    return first_filler(o) + (int)o->fillers;
}

static const char *recall_refuse(const void *options, size_t length) {
    static char reason[128];
    const RecallOptions *o = options;
    long long pairs = o->pairs, all = pairs + o->updates, keys = o->keys, values = o->values;
    long long shortest = o->gap > 0 ? 2 * all + 2 * pairs + 1 : 2 * all + 2;
    if (o->updates > pairs)
        snprintf(reason, sizeof reason, "updates = %lld is more than pairs = %lld",
                 (long long)o->updates, pairs);
    else if (keys < pairs || (values < all && !o->updates))
        snprintf(reason, sizeof reason,
                 "%s = %lld is less than pairs = %lld: each pair has its own",
                 keys < pairs ? "keys" : "values", keys < pairs ? keys : values, pairs);
    else if (values < all)
        snprintf(reason, sizeof reason,
                 "values = %lld is less than pairs + updates = %lld: each pair has its own", values,
                 all);
    else if (o->gap > 0 && o->gap < SMALLEST_GAP)
        return "gap is 0, or from 0.001 to 1";
    else if (o->gap > 0 && !o->fillers)
        return "gap needs fillers of at least 1, for the tokens between the queries";
    else if (!(o->gap > 0) && o->fillers)
        return "fillers have a place only with gap above 0";
    else if (length < (size_t)shortest)
        snprintf(reason, sizeof reason, "needs at least %s = %lld tokens",
                 o->gap > 0   ? "2 * updates + 4 * pairs + 1"
                 : o->updates ? "2 * (pairs + updates) + 2"
                              : "2 * pairs + 2",
                 shortest);
    else
        return NULL;
    return reason;
}

/* All pairs; returns the place behind them. */
static size_t write_pairs(const RecallOptions *o, Rng *rng, Example *example) {
    int32_t *tokens = example->tokens, *chosen = example->targets; /* room for all of them, twice */
    const size_t pairs = (size_t)o->pairs, updates = (size_t)o->updates, all = pairs + updates;
    rng_choose(rng, pairs, (size_t)o->keys, chosen);
    for (size_t u = 0; u < updates; u++) chosen[pairs + u] = chosen[u];
    if (updates) rng_shuffle(rng, chosen, all);
    for (size_t p = 0; p < all; p++) tokens[1 + 2 * p] = KEYS + chosen[p];
    rng_choose(rng, all, (size_t)o->values, chosen);
    for (size_t p = 0; p < all; p++) tokens[2 + 2 * p] = first_value(o) + chosen[p];
    return 1 + 2 * all;
}

/* The place of a key's last pair among those in front of `end`, or 0. */
static size_t find_pair(const int32_t *tokens, size_t end, int32_t key) {
    for (size_t place = end - 2; place < end; place -= 2)
        if (tokens[place] == key) return place;
    return 0;
}

static void ask(const RecallOptions *o, size_t length, size_t t, size_t pair, Example *example) {
    int32_t *tokens = example->tokens;
    tokens[t] = tokens[pair];
    if (o->answers && t + 1 < length) tokens[t + 1] = tokens[pair + 1];
    example->scored[t] = 1;
    example->distance[t] = (int32_t)(t - pair);
}

/* A draw of g = 0 .. cells-1 with P(g) ~ (g + 1)^(gap - 1): x of the density x^(gap - 1) on
   1 .. cells + 1 is rounded down, and accepted in the ratio of the law to the density's mass
   there, which is at most that of x = 1 .. 2. */
static size_t draw_gap(double gap, Rng *rng, size_t cells) {
    const double end = pow((double)cells + 1, gap);
    for (;;) {
        const double x = pow(1 + rng_uniform(rng) * (end - 1), 1 / gap);
        const double n = fmin(floor(x), (double)cells);
        const double mass = (pow(n + 1, gap) - pow(n, gap)) / gap;
        const double ratio = pow(n, gap - 1) / mass, largest = gap / (pow(2, gap) - 1);
        if (rng_uniform(rng) * largest < ratio) return (size_t)n - 1;
    }
}

static void ask_once_each(const RecallOptions *o, Rng *rng, size_t queries, size_t length,
                          Example *example) {
    int32_t *tokens = example->tokens;
    for (size_t t = queries; t < length; t++)
        tokens[t] = first_filler(o) + (int32_t)rng_below(rng, (uint64_t)o->fillers);
    for (size_t pair = 1; pair < queries; pair += 2) {
        if (find_pair(tokens, queries, tokens[pair]) != pair) continue; /* updated later */
        size_t t;
        do
            t = queries + 2 * draw_gap(o->gap, rng, (length - queries) / 2);
        while (example->scored[t]);
        ask(o, length, t, pair, example);
    }
}

static void ask_to_the_end(const RecallOptions *o, Rng *rng, size_t queries, size_t length,
                           Example *example) {
    const size_t stride = o->answers ? 2 : 1, all = (queries - 1) / 2;
    const int32_t *tokens = example->tokens;
    for (size_t t = queries; t < length; t += stride) {
        size_t pair;
        do
            pair = 1 + 2 * rng_below(rng, all);
        while (o->updates && find_pair(tokens, queries, tokens[pair]) != pair);
        ask(o, length, t, pair, example);
    }
}

static void recall_generate(const void *options, Rng *rng, size_t length, Example *example) {
    const RecallOptions *o = options;
    int32_t *tokens = example->tokens;
    tokens[0] = BOS;
    const size_t queries = write_pairs(o, rng, example);
    memset(example->scored, 0, length);
    memset(example->distance, 0, length * sizeof *example->distance);
    (o->gap > 0 ? ask_once_each : ask_to_the_end)(o, rng, queries, length, example);
    memcpy(example->targets, tokens + 1, (length - 1) * sizeof *tokens);
    example->targets[length - 1] = 0;
    for (size_t t = queries; t < length; t++)
        if (example->scored[t])
            example->targets[t] = tokens[t - (size_t)example->distance[t] + 1];
}

static double recall_chance(const void *options) {
    const RecallOptions *o = options;
    return 1.0 / (double)o->pairs; /* one of the values that the context holds and that count */
}

static const char *recall_token_text(const void *options, int32_t token, char text[32]) {
    const RecallOptions *o = options;
    if (token < KEYS) return strcpy(text, "BOS");
    if (token < first_value(o))
        snprintf(text, 32, "k%d", token - KEYS);
    else if (token < first_filler(o))
        snprintf(text, 32, "v%d", token - first_value(o));
    else
        task_symbol(token - first_filler(o), text);
    return text;
}

static bool recall_masked(const void *options) {
    return !((const RecallOptions *)options)->answers;
}

/* From the last pair of the key alone, as the task asks. */
static int32_t recall_solve(const void *options, const int32_t *tokens, size_t t) {
    const RecallOptions *o = options;
    const size_t pair = find_pair(tokens, 1 + 2 * (size_t)(o->pairs + o->updates), tokens[t]);
    return pair ? tokens[pair + 1] : -1;
}

const Task task_recall = {
    .name = "recall",
    .summary = "key-value pairs first, then queries to the end: name the value of each key",
    .source =
        "multi-query associative recall, Arora et al. 2023 (arXiv:2312.04927), section 3; here "
        "keys are asked for repeatedly and the value follows its query, unless gap, fillers and "
        "answers = false say as there; fillers are never keys",
    .options = recall_options,
    .options_size = sizeof(RecallOptions),
    .vocabulary = recall_vocabulary,
    .refuse = recall_refuse,
    .generate = recall_generate,
    .chance = recall_chance,
    .token_text = recall_token_text,
    .masked = recall_masked,
    .solve = recall_solve,
};
