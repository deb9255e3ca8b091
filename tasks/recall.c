/* BOS k1 v1 .. kK vK, then keys of these pairs, drawn uniformly, to the end of the context: at each
   of them the answer is the key's value. The answers are not part of the context. If they were, a
   key that is asked for again could be answered from its last query, a few tokens back, and the
   relation to the pair would hardly be tested. */
#include "tasks/task.h"

#include <stdio.h>
#include <string.h>

enum { BOS, KEYS }; /* keys, then values, follow */

typedef struct {
    int64_t pairs, keys, values;
} RecallOptions;

static const Option recall_options[] = {
    {.name = "pairs",
     .type = OPTION_INTEGER,
     .offset = offsetof(RecallOptions, pairs),
     .fallback = 8,
     .min = 2,
     .max = 65536,
     .doc = "key-value pairs at the start of the context"},
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
     .doc = "number of different values; an example uses `pairs` of them"},
    {.name = NULL},
};

static int recall_vocabulary(const void *options) {
    const RecallOptions *o = options;
    return KEYS + (int)(o->keys + o->values);
}

static const char *recall_refuse(const void *options, size_t length) {
    static char reason[128];
    const RecallOptions *o = options;
    long long pairs = o->pairs, keys = o->keys, values = o->values, shortest = 2 * pairs + 2;
    if (keys < pairs || values < pairs)
        snprintf(reason, sizeof reason,
                 "%s = %lld is less than pairs = %lld: each pair has its own",
                 keys < pairs ? "keys" : "values", keys < pairs ? keys : values, pairs);
    else if (length < (size_t)shortest)
        snprintf(reason, sizeof reason, "needs at least 2 * pairs + 2 = %lld tokens", shortest);
    else
        return NULL;
    return reason;
}

static void recall_generate(const void *options, Rng *rng, size_t length, Example *example) {
    const RecallOptions *o = options;
    int32_t *tokens = example->tokens, *chosen = example->targets; /* targets: room for K, twice */
    size_t pairs = (size_t)o->pairs, queries = 1 + 2 * pairs;
    tokens[0] = BOS;
    rng_choose(rng, pairs, (size_t)o->keys, chosen);
    for (size_t p = 0; p < pairs; p++) tokens[1 + 2 * p] = KEYS + chosen[p];
    rng_choose(rng, pairs, (size_t)o->values, chosen);
    for (size_t p = 0; p < pairs; p++) tokens[2 + 2 * p] = KEYS + (int32_t)o->keys + chosen[p];

    memset(example->scored, 0, queries);
    memset(example->distance, 0, queries * sizeof *example->distance);
    for (size_t t = queries; t < length; t++) {
        size_t key = 1 + 2 * rng_below(rng, pairs);
        tokens[t] = tokens[key];
        example->targets[t] = tokens[key + 1];
        example->scored[t] = 1;
        example->distance[t] = (int32_t)(t - key);
    }
    memcpy(example->targets, tokens + 1, queries * sizeof *tokens);
}

static double recall_chance(const void *options) {
    const RecallOptions *o = options;
    return 1.0 / (double)o->pairs; /* one of the values that the context holds */
}

static const char *recall_token_text(const void *options, int32_t token, char text[32]) {
    const RecallOptions *o = options;
    if (token < KEYS) return strcpy(text, "BOS");
    bool key = token < KEYS + o->keys;
    snprintf(text, 32, "%c%d", key ? 'k' : 'v', token - KEYS - (key ? 0 : (int)o->keys));
    return text;
}

static int32_t recall_solve(const void *options, const int32_t *tokens, size_t t) {
    const RecallOptions *o = options;
    size_t key = 0;
    while (tokens[key] != tokens[t] || (key < t && tokens[key + 1] < KEYS + o->keys)) key++;
    return key < t ? tokens[key + 1] : -1;
}

const Task task_recall = {
    .name = "recall",
    .summary = "key-value pairs first, then keys to the end: name the value of each",
    .source =
        "multi-query associative recall, Arora et al. 2023 (arXiv:2312.04927), section 3; here "
        "without gaps or fillers, and a key may be asked for more than once",
    .options = recall_options,
    .options_size = sizeof(RecallOptions),
    .vocabulary = recall_vocabulary,
    .refuse = recall_refuse,
    .generate = recall_generate,
    .chance = recall_chance,
    .token_text = recall_token_text,
    .solve = recall_solve,
};
