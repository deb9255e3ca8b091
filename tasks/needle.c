/* BOS haystack QUERY k1 v v .. k2 v v ..: key-value pairs ("needles") at random places among
   fillers, then keys, each followed by its values in the order in which they stood. A value is
   asked for at the token before it. */
#include "tasks/layout.h"

#include <stdio.h>
#include <string.h>

enum { BOS, QUERY, FILLERS }; /* fillers, then keys, then values, follow */

typedef struct {
    int64_t needles, repeats, queries, fillers, keys, values;
} NeedleOptions;

static const Option needle_options[] = {
    {.name = "needles",
     .type = OPTION_INTEGER,
     .offset = offsetof(NeedleOptions, needles),
     .fallback = 4,
     .min = 1,
     .max = 4096,
     .doc = "different keys in the haystack; those that are not asked for distract"},
    {.name = "repeats",
     .type = OPTION_INTEGER,
     .offset = offsetof(NeedleOptions, repeats),
     .fallback = 1,
     .min = 1,
     .max = 64,
     .doc = "pairs a key, each with another value; all of them are asked for, in order"},
    {.name = "queries",
     .type = OPTION_INTEGER,
     .offset = offsetof(NeedleOptions, queries),
     .fallback = 1,
     .min = 1,
     .max = 4096,
     .doc = "keys that are asked for, of the needles"},
    {.name = "fillers",
     .type = OPTION_INTEGER,
     .offset = offsetof(NeedleOptions, fillers),
     .fallback = 32,
     .min = 1,
     .max = 65536,
     .doc = "number of different tokens of the haystack, apart from keys and values"},
    {.name = "keys",
     .type = OPTION_INTEGER,
     .offset = offsetof(NeedleOptions, keys),
     .fallback = 64,
     .min = 1,
     .max = 65536,
     .doc = "number of different keys; an example uses `needles` of them"},
    {.name = "values",
     .type = OPTION_INTEGER,
     .offset = offsetof(NeedleOptions, values),
     .fallback = 64,
     .min = 2,
     .max = 65536,
     .doc = "number of different values; no two pairs of an example have the same"},
    {.name = NULL},
};

static int32_t first_key(const NeedleOptions *o) {
    return FILLERS + (int32_t)o->fillers;
}

static int32_t first_value(const NeedleOptions *o) {
    return first_key(o) + (int32_t)o->keys;
}

static int needle_vocabulary(const void *options) {
    const NeedleOptions *o = options;
    return first_value(o) + (int)o->values;
}

/* Tokens from QUERY to the last that is read: the last value is not. */
static size_t tail(const NeedleOptions *o) {
    return (size_t)(o->queries * (1 + o->repeats));
}

static const char *needle_refuse(const void *options, size_t length) {
    static char reason[128];
    const NeedleOptions *o = options;
    long long needles = o->needles, repeats = o->repeats, pairs = needles * repeats;
    long long shortest = 1 + 2 * pairs + (long long)tail(o);
    if (o->queries > needles)
        snprintf(reason, sizeof reason, "queries = %lld is more than needles = %lld",
                 (long long)o->queries, needles);
    else if (o->keys < needles)
        snprintf(reason, sizeof reason, "keys = %lld is less than needles = %lld",
                 (long long)o->keys, needles);
    else if (o->values < pairs)
        snprintf(reason, sizeof reason, "values = %lld is less than needles * repeats = %lld",
                 (long long)o->values, pairs);
    else if (length < (size_t)shortest)
        snprintf(reason, sizeof reason,
                 "needs at least 1 + 2 * needles * repeats + queries * (1 + repeats) = %lld tokens",
                 shortest);
    else
        return NULL;
    return reason;
}

/* Any way to place the pairs without overlap is equally likely, and so is any order of them. */
static void hide(const NeedleOptions *o, Rng *rng, size_t end, Example *example) {
    const size_t needles = (size_t)o->needles, pairs = needles * (size_t)o->repeats;
    int32_t *tokens = example->tokens;
    int32_t *keys = example->targets, *values = example->distance; /* room for all pairs */
    rng_choose(rng, needles, (size_t)o->keys, keys);
    for (size_t p = needles; p < pairs; p++) keys[p] = keys[p - needles];
    rng_shuffle(rng, keys, pairs);
    rng_choose(rng, pairs, (size_t)o->values, values);
    size_t done = 0;
    for (size_t t = 1; t < end; t++) {
        const size_t left = pairs - done, cells = end - t - left; /* a pair takes one cell */
        if (rng_below(rng, cells) < left) {
            tokens[t++] = first_key(o) + keys[done];
            tokens[t] = first_value(o) + values[done++];
        } else {
            tokens[t] = FILLERS + (int32_t)rng_below(rng, (uint64_t)o->fillers);
        }
    }
}

static bool is_key(const NeedleOptions *o, int32_t token) {
    return first_key(o) <= token && token < first_value(o);
}

/* The place of a key's pair number `pair` (from 0) in tokens[1 .. end-1], or 0. */
static size_t find_pair(const int32_t *tokens, size_t end, int32_t key, size_t pair) {
    for (size_t t = 1; t < end; t++)
        if (tokens[t] == key && !pair--) return t;
    return 0;
}

static void needle_generate(const void *options, Rng *rng, size_t length, Example *example) {
    const NeedleOptions *o = options;
    const size_t query = length - tail(o), repeats = (size_t)o->repeats;
    int32_t *tokens = example->tokens, *asked = example->targets;
    tokens[0] = BOS;
    hide(o, rng, query, example);
    tokens[query] = QUERY;

    size_t needles = 0; /* the different keys, in the order of their first pairs */
    for (size_t t = 1; t < query; t++)
        if (is_key(o, tokens[t]) && find_pair(tokens, query, tokens[t], 0) == t)
            asked[needles++] = tokens[t];
    rng_shuffle(rng, asked, needles);
    size_t t = query + 1;
    for (size_t q = 0; q < (size_t)o->queries; q++) {
        tokens[t++] = asked[q];
        for (size_t r = 0; r < repeats && t < length; r++, t++)
            tokens[t] = tokens[find_pair(tokens, query, asked[q], r) + 1];
    }

    memset(example->scored, 0, length);
    memset(example->distance, 0, length * sizeof *example->distance);
    memcpy(example->targets, tokens + 1, (length - 1) * sizeof *tokens);
    example->targets[length - 1] = 0;
    for (size_t k = query + 1; k < length; k += 1 + repeats)
        for (size_t r = 0; r < repeats; r++) {
            const size_t pair = find_pair(tokens, query, tokens[k], r);
            example->targets[k + r] = tokens[pair + 1];
            example->scored[k + r] = 1;
            example->distance[k + r] = (int32_t)(k + r - pair);
        }
}

static double needle_chance(const void *options) {
    const NeedleOptions *o = options;
    const int64_t pairs = o->needles * o->repeats;
    return 1.0 / (double)(pairs > 1 ? pairs : o->values); /* a value that the context holds */
}

static const char *needle_token_text(const void *options, int32_t token, char text[32]) {
    static const char *const marks[FILLERS] = {"BOS", "QUERY"};
    const NeedleOptions *o = options;
    if (token < FILLERS) return strcpy(text, marks[token]);
    if (token < first_key(o)) return task_symbol(token - FILLERS, text);
    const bool key = is_key(o, token);
    snprintf(text, 32, "%c%d", key ? 'k' : 'v', token - (key ? first_key(o) : first_value(o)));
    return text;
}

static bool needle_masked(const void *options) {
    const NeedleOptions *o = options;
    return o->queries == 1 && o->repeats == 1; /* else answers are read */
}

/* Counts pairs from QUERY back: a key has `repeats` of them. */
static int32_t needle_solve(const void *options, const int32_t *tokens, size_t t) {
    const NeedleOptions *o = options;
    size_t query = 1, key = t;
    while (query < t && tokens[query] != QUERY) query++;
    while (key > query && !is_key(o, tokens[key])) key--;
    if (key <= query || t - key >= (size_t)o->repeats) return -1;
    size_t left = (size_t)o->repeats - (t - key);
    for (size_t p = query; p-- > 1;)
        if (tokens[p] == tokens[key] && !--left) return tokens[p + 1];
    return -1;
}

const Task task_needle = {
    .name = "needle",
    .summary = "key-value pairs at random depths among fillers: name the values of a key",
    .source = "Hsieh et al. 2024, RULER (arXiv:2404.06654), section 3.1: single, multi-key, "
              "multi-value and multi-query; here tokens instead of sentences, values of one token",
    .options = needle_options,
    .options_size = sizeof(NeedleOptions),
    .vocabulary = needle_vocabulary,
    .refuse = needle_refuse,
    .generate = needle_generate,
    .chance = needle_chance,
    .token_text = needle_token_text,
    .masked = needle_masked,
    .solve = needle_solve,
};
