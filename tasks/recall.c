/* BOS k1 v1 .. kK vK, then queries to the end of the context: keys of these pairs, drawn uniformly,
   each followed by its value. Scored are the places of the queried keys, where the answer is the
   value. A key that is asked for again can also be answered from its last query; with answers =
   false only the keys of the queries stand in the context, and every answer has to come from the
   pair. That form is much harder to learn. */
#include "tasks/task.h"

#include <stdio.h>
#include <string.h>

enum { BOS, KEYS }; /* keys, then values, follow */

typedef struct {
    int64_t pairs, keys, values;
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
    {.name = "answers",
     .type = OPTION_BOOLEAN,
     .offset = offsetof(RecallOptions, answers),
     .fallback = 1,
     .doc = "the value follows each queried key; false: queries are keys alone, so that no answer "
            "can be read off an earlier query"},
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

    memset(example->scored, 0, length);
    memset(example->distance, 0, length * sizeof *example->distance);
    const size_t stride = o->answers ? 2 : 1;
    for (size_t t = queries; t < length; t += stride) {
        size_t key = 1 + 2 * rng_below(rng, pairs);
        tokens[t] = tokens[key];
        if (o->answers && t + 1 < length) tokens[t + 1] = tokens[key + 1];
        example->scored[t] = 1;
        example->distance[t] = (int32_t)(t - key);
    }
    memcpy(example->targets, tokens + 1, (length - 1) * sizeof *tokens);
    example->targets[length - 1] = 0;
    for (size_t t = queries; t < length; t += stride)
        example->targets[t] = tokens[t - (size_t)example->distance[t] + 1];
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

/* From the pair alone, as the task asks. */
static int32_t recall_solve(const void *options, const int32_t *tokens, size_t t) {
    const RecallOptions *o = options;
    for (size_t key = 1; key < 2 * (size_t)o->pairs; key += 2)
        if (tokens[key] == tokens[t]) return tokens[key + 1];
    return -1;
}

const Task task_recall = {
    .name = "recall",
    .summary = "key-value pairs first, then queries to the end: name the value of each key",
    .source =
        "multi-query associative recall, Arora et al. 2023 (arXiv:2312.04927), section 3; here "
        "without gaps or fillers, the value follows its query, and keys are asked for repeatedly",
    .options = recall_options,
    .options_size = sizeof(RecallOptions),
    .vocabulary = recall_vocabulary,
    .refuse = recall_refuse,
    .generate = recall_generate,
    .chance = recall_chance,
    .token_text = recall_token_text,
    .solve = recall_solve,
};
