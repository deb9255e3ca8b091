/* What every task promises (tasks/task.h), tested over the registry, then what each task promises
   by itself. Data come from fixed seeds; statistical bounds are five standard deviations. */
#include "src/examples.h"
#include "tasks/task.h"
#include "tests/task_defaults.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 3 };

/* ---- a task with options, and a batch of it ---------------------------------------------- */

static const Task *task;
static _Alignas(max_align_t) unsigned char options[OPTION_STRUCT_SIZE];

static void choose(const char *name) {
    task = task_find(name);
    ck_assert_ptr_nonnull(task);
    task_defaults(task, options);
}

static void set(const char *name, double value) {
    const Option *option = option_find(task->options, name);
    ck_assert_ptr_nonnull(option);
    void *field = options + option->offset;
    switch (option->type) {
    case OPTION_BOOLEAN: *(bool *)field = value != 0; break;
    case OPTION_CHOICE: *(int *)field = (int)value; break;
    case OPTION_NUMBER: *(double *)field = value; break;
    default: *(int64_t *)field = (int64_t)value;
    }
}

/* What the loops over all tasks try: every task as it is, and these settings of some. */
enum { SETTINGS = 4 };
typedef struct {
    const char *task;
    struct {
        const char *option;
        double value;
    } set[SETTINGS];
} Variant;

static const Variant variants[] = {
    {"copy", {{"slots", true}}},
    {"copy", {{"repeats", false}, {"alphabet", 64}}},
    {"reverse", {{"slots", true}, {"alphabet", 2}}},
    {"selective_copy", {{"slots", false}, {"symbols", 4}}},
    {"sort", {{"slots", true}}},
    {"sort", {{"repeats", false}}},
    {"bucket_sort", {{"slots", false}}},
    {"missing_duplicate", {{"alphabet", 5}}},
    {"addition", {{"reversed", true}}},
    {"recall", {{"answers", false}}},
    {"recall", {{"updates", 3}}},
    {"recall", {{"updates", 8}, {"answers", false}}},
    {"recall", {{"gap", 0.01}, {"fillers", 1}, {"answers", false}}},
    {"recall", {{"gap", 0.5}, {"fillers", 9}, {"updates", 2}}},
    {"needle", {{"needles", 1}}},
    {"needle", {{"repeats", 3}}},
    {"needle", {{"queries", 4}}},
    {"needle", {{"queries", 2}, {"repeats", 2}, {"needles", 3}}},
    {"flip_flop", {{"ignore", 0}}},
    {"flip_flop", {{"ignore", 0.98}}},
    {"count", {{"variables", 3}}},
    {"count", {{"set", 0}, {"pass", 1}, {"increment", 1}, {"largest", 100}}},
    {"offset", {{"back", 1}}},
    {"nth_token", {{"from", 1}, {"indices", 20}}},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

/* All but custom, the last, which is nothing without a config (tests/test_functions.c). */
static size_t looped_tasks(void) { return tasks_count - 1; }

static void choose_nth(int n) {
    ck_assert_str_eq(tasks[looped_tasks()]->name, "custom");
    if ((size_t)n < looped_tasks()) {
        choose(tasks[n]->name);
        return;
    }
    const Variant *variant = &variants[(size_t)n - looped_tasks()];
    choose(variant->task);
    for (int i = 0; i < SETTINGS && variant->set[i].option; i++)
        set(variant->set[i].option, variant->set[i].value);
}

/* Whether an option that the task has stands at this value. */
static bool has(const char *name, double value) {
    const Option *option = option_find(task->options, name);
    if (!option) return false;
    const void *field = options + option->offset;
    switch (option->type) {
    case OPTION_BOOLEAN: return *(const bool *)field == (value != 0);
    case OPTION_CHOICE: return *(const int *)field == (int)value;
    case OPTION_NUMBER: return *(const double *)field == value;
    default: return *(const int64_t *)field == (int64_t)value;
    }
}

static bool is(const char *name) {
    return !strcmp(task->name, name);
}

static Examples draw(RngPurpose purpose, size_t items, size_t length) {
    Examples batch = examples_new(items * length);
    examples_fill(task, options, SEED, purpose, 0, 0, items, length, &batch);
    return batch;
}

static Example nth(const Examples *batch, size_t i) {
    size_t start = i * batch->length;
    return (Example){batch->tokens + start, batch->targets + start, batch->scored + start,
                     batch->distance + start};
}

static const char *text(int32_t token) {
    static char buffer[32];
    return task->token_text(options, token, buffer);
}

/* Is the count within five deviations of what n draws with this probability give? */
static void check_share(double count, double n, double probability) {
    ck_assert_double_eq_tol(count, n * probability, 5 * sqrt(n * probability * (1 - probability)));
}

/* Are the counts those of a uniform distribution? */
static void check_uniform(const double *counts, int cells) {
    double sum = 0, chi_square = 0;
    for (int i = 0; i < cells; i++) sum += counts[i];
    for (int i = 0; i < cells; i++) chi_square += pow(counts[i] - sum / cells, 2) / (sum / cells);
    ck_assert_double_lt(chi_square, cells - 1 + 5 * sqrt(2.0 * (cells - 1)));
}

/* ---- every task -------------------------------------------------------------------------- */

START_TEST(is_described) {
    choose_nth(_i);
    ck_assert_ptr_eq(task_find(task->name), task);
    ck_assert_ptr_null(task_find("no such task"));
    ck_assert_uint_gt(strlen(task->summary), 20);
    ck_assert_uint_gt(strlen(task->source), 20);
    ck_assert_uint_le(task->options_size, OPTION_STRUCT_SIZE);
    for (const Option *o = task->options; o->name; o++) {
        ck_assert_uint_lt(o->offset, task->options_size);
        ck_assert_uint_gt(strlen(o->doc), 10);
        if (o->type == OPTION_INTEGER || o->type == OPTION_NUMBER)
            ck_assert(o->min <= o->fallback && o->fallback <= o->max);
    }
    double chance = task->chance(options);
    ck_assert(chance > 0 && chance < 1);
}
END_TEST

START_TEST(tokens_have_texts_of_their_own) {
    choose_nth(_i);
    int vocabulary = task->vocabulary(options);
    ck_assert_int_gt(vocabulary, 1);
    char(*texts)[32] = allocate((size_t)vocabulary, sizeof *texts);
    for (int token = 0; token < vocabulary; token++) {
        strcpy(texts[token], text(token));
        ck_assert_uint_gt(strlen(texts[token]), 0);
        for (int other = 0; other < token; other++) ck_assert_str_ne(texts[token], texts[other]);
    }
    free(texts);
}
END_TEST

/* The solver sees what the model does, tokens[0..t] or (masked tasks) all, in a block of exactly
   that size. */
static bool masked(void) {
    return task->masked && task->masked(options);
}
static int32_t solve_seen(const int32_t *tokens, size_t length, size_t t) {
    const size_t count = masked() ? length : t + 1;
    int32_t *seen = malloc(count * sizeof *seen);
    memcpy(seen, tokens, count * sizeof *seen);
    int32_t answer = task->solve(options, seen, t);
    free(seen);
    return answer;
}

static void check_example(const Example *e, size_t length) {
    int vocabulary = task->vocabulary(options), scored = 0;
    for (size_t t = 0; t < length; t++) {
        ck_assert(e->tokens[t] >= 0 && e->tokens[t] < vocabulary);
        ck_assert(e->targets[t] >= 0 && e->targets[t] < vocabulary);
        ck_assert(e->scored[t] <= 1);
        scored += e->scored[t];
        if (e->scored[t] && !task->solve) {
            ck_assert_int_eq(e->distance[t], 0);
        } else if (e->scored[t]) {
            ck_assert(e->distance[t] >= 0 && (size_t)e->distance[t] <= t);
            ck_assert_int_eq(solve_seen(e->tokens, length, t), e->targets[t]);
            if (!is("mlm_grammar")) /* a model that looks back only can answer, too */
                ck_assert_int_eq(solve_seen(e->tokens, t + 1, t), e->targets[t]);
        } else {
            ck_assert_int_eq(e->distance[t], 0);
            ck_assert(e->targets[t] == 0 || (t + 1 < length && e->targets[t] == e->tokens[t + 1]));
        }
    }
    ck_assert_int_ge(scored, 1);
}

START_TEST(every_length_gives_whole_examples_that_the_solver_answers) {
    enum { LONGEST = 80, GUARD = 0x5a5a5a5a };
    choose_nth(_i);
    int accepted = 0;
    for (size_t length = 0; length <= LONGEST; length++) {
        const char *reason = task->refuse(options, length);
        if (reason) {
            ck_assert_uint_gt(strlen(reason), 10);
            continue;
        }
        accepted++;
        for (uint64_t item = 0; item < 20; item++) {
            int32_t tokens[LONGEST + 1], targets[LONGEST + 1], distance[LONGEST + 1];
            uint8_t scored[LONGEST + 1];
            for (size_t t = 0; t <= LONGEST; t++)
                tokens[t] = targets[t] = distance[t] = GUARD, scored[t] = 0x5a;
            Example e = {tokens, targets, scored, distance};
            Rng rng = rng_stream(SEED, RNG_TEST, length, item);
            task->generate(options, &rng, length, &e);
            check_example(&e, length);
            for (size_t t = length; t <= LONGEST; t++)
                ck_assert(tokens[t] == GUARD && targets[t] == GUARD && distance[t] == GUARD &&
                          scored[t] == 0x5a);
        }
    }
    ck_assert_int_gt(accepted, 0);
}
END_TEST

START_TEST(distance_reaches_the_first_token_that_is_needed) {
    enum { LENGTH = 60, ITEMS = 100 };
    choose_nth(_i);
    if (!task->solve) return; /* the relations of a text are not known */
    Examples batch = draw(RNG_TEST, ITEMS, LENGTH);
    for (size_t i = 0; i < ITEMS; i++) {
        Example e = nth(&batch, i);
        for (size_t t = 0; t < LENGTH; t++) {
            if (!e.scored[t]) continue;
            size_t first = t - (size_t)e.distance[t];
            int32_t changed[LENGTH] = {0}; /* nothing before the first one is needed ... */
            const size_t end = masked() ? LENGTH : t + 1;
            memcpy(changed + first, e.tokens + first, (end - first) * sizeof *changed);
            ck_assert_int_eq(solve_seen(changed, LENGTH, t), e.targets[t]);
            /* ... and it is: some other token in its place changes the answer. */
            bool needed = false;
            for (int other = 1; other < task->vocabulary(options) && !needed; other++) {
                changed[first] = other;
                needed = solve_seen(changed, LENGTH, t) != e.targets[t];
            }
            ck_assert_msg(needed, "item %zu, place %zu: place %zu is not needed", i, t, first);
        }
    }
    examples_free(&batch);
}
END_TEST

/* How often the answer that was most frequent beside the same clue in the first half of the batch
   is right in the second half. A clue is a number below `clues`. */
typedef size_t Clue(const Example *e, size_t t);
static size_t no_clue(const Example *e, size_t t) {
    return (void)e, (void)t, 0;
}
static size_t place(const Example *e, size_t t) {
    return (void)e, t;
}
static size_t token(const Example *e, size_t t) {
    return (size_t)e->tokens[t];
}
static size_t token_before(const Example *e, size_t t) {
    return t ? (size_t)e->tokens[t - 1] : 0;
}

static double majority_accuracy(const Examples *batch, Clue *clue, size_t clues) {
    size_t vocabulary = (size_t)task->vocabulary(options);
    uint32_t *counts = ALLOCATE(clues * vocabulary, uint32_t);
    double right = 0, asked = 0;
    for (size_t i = 0; i < batch->items; i++) {
        Example e = nth(batch, i);
        bool learning = i < batch->items / 2;
        for (size_t t = 0; t < batch->length; t++) {
            if (!e.scored[t]) continue;
            uint32_t *row = counts + clue(&e, t) * vocabulary;
            if (learning) {
                row[e.targets[t]]++;
                continue;
            }
            size_t best = 0;
            for (size_t a = 1; a < vocabulary; a++)
                if (row[a] > row[best]) best = a;
            right += e.targets[t] == (int32_t)best;
            asked++;
        }
    }
    free(counts);
    return right / asked;
}

/* What a guess by a clue reaches at 128 tokens where the task itself lets it be above chance: exact
   distributions (order statistics, counts: scipy) or, for the tokens of sort and addition, 40,000
   examples made by numpy. */
typedef struct {
    double no_clue, place, token, before;
} Guesses;

static Guesses expected_guesses(double blind) {
    /* The answer to the question before is as good a guess as any that the context holds. */
    Guesses guesses = {blind, blind, blind, task->chance(options)};
    if (is("repeat_token")) /* all is easy but the first and the last of 64: 1 of 32 symbols, EOS */
        guesses.token = guesses.before = (62 + 1.0 / 32) / 64;
    if (is("selective_copy") && has("slots", false)) { /* 4 symbols and EOS, which is known */
        guesses = (Guesses){0.2, 0.2 + 0.8 / 16, 0.2 + 0.2 / 16, 0.2 + 0.4 / 16};
    }
    if (is("sort")) { /* the jth of 63 symbols is about the jth of the alphabet */
        if (has("slots", true)) guesses.place = 0.1509;
        if (has("slots", false)) guesses = (Guesses){blind, 0.1642, 0.4071, 0.3253};
        if (has("repeats", false)) guesses = (Guesses){blind, 0.7500, 0.9844, 0.9538};
    }
    if (is("bucket_sort")) {
        guesses.place = 0.8210;
        if (has("slots", false)) guesses = (Guesses){63.0 / 64 / 5, 0.8238, 0.9219, 0.8469};
    }
    if (is("addition")) /* the highest digit is 0 or 1, the place of EOS is known */
        guesses = (Guesses){blind, (0.5 + 1 + 0.1 * 41) / 43, 0.1133, 0.1075};
    if (is("flip_flop")) { /* the bit in front belongs to a w or r; that of the first pair to w */
        const double ignored = has("ignore", 0) ? 0 : has("ignore", 0.8) ? 0.8 : 0.98;
        const double asked = (1 - ignored) / 2;
        guesses.before = 1 - ignored / 2 + ignored / 2 * asked / (62 * asked + 1);
    }
    if (is("count")) { /* the distribution of the value; a=0 in front tells more */
        guesses = (Guesses){0.2587, 0.2587, 0.2587, 0.2863};
        if (has("variables", 3)) guesses = (Guesses){0.1383, 0.1383, 0.1383, 0.1543};
        if (has("set", 0)) guesses = (Guesses){0.0709, 0.0709, 0.0709, 0.0709};
    }
    if (is("mlm_grammar")) { /* 1 masked token in 10 is left, a neighbour tells 1 feature of 3 */
        guesses.token = blind + 0.1;
        guesses.before = 1.0 / 16;
    }
    if (is("offset") && has("back", 1)) guesses.before = 1; /* that is the task */
    return guesses;
}

START_TEST(answers_cannot_be_guessed_without_the_context) {
    /* The margin covers the end mark of copy, which a clue of place gives away: 1 answer of 64. */
    enum { LENGTH = 128, ITEMS = 8000 };
    static const double margin = 0.02;
    choose_nth(_i);
    if (is("text")) return; /* letters are not equally frequent, and words can be guessed */
    Examples batch = draw(RNG_TEST, ITEMS, LENGTH);
    size_t vocabulary = (size_t)task->vocabulary(options);

    /* A uniform guess among all answers that occur. */
    int32_t *answers = ALLOCATE(vocabulary, int32_t);
    bool *seen = ALLOCATE(vocabulary, bool);
    size_t kinds = 0, asked = 0, right = 0;
    for (size_t t = 0; t < batch.items * batch.length; t++)
        if (batch.scored[t] && !seen[batch.targets[t]]) {
            seen[batch.targets[t]] = true;
            answers[kinds++] = batch.targets[t];
        }
    Rng rng = rng_stream(SEED, RNG_TEST, 1, 0);
    for (size_t t = 0; t < batch.items * batch.length; t++)
        if (batch.scored[t]) asked++, right += batch.targets[t] == answers[rng_below(&rng, kinds)];
    double blind = 1 / (double)kinds;
    check_share((double)right, (double)asked, blind);
    if (!has("set", 0)) /* count without a reset: not every value up to the largest occurs */
        ck_assert_double_le(blind, task->chance(options));

    const Guesses guesses = expected_guesses(blind);
    ck_assert_double_lt(majority_accuracy(&batch, no_clue, 1), guesses.no_clue + margin);
    ck_assert_double_lt(majority_accuracy(&batch, place, LENGTH), guesses.place + margin);
    ck_assert_double_lt(majority_accuracy(&batch, token, vocabulary), guesses.token + margin);
    ck_assert_double_lt(majority_accuracy(&batch, token_before, vocabulary),
                        guesses.before + margin);
    free(answers);
    free(seen);
    examples_free(&batch);
}
END_TEST

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t fnv(uint64_t hash, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
    return hash;
}

START_TEST(no_example_is_drawn_twice) {
    enum { ITEMS = 10000, LENGTH = 64 };
    static const RngPurpose purposes[] = {RNG_TRAIN, RNG_VALIDATE, RNG_EVALUATE};
    enum { PURPOSES = sizeof purposes / sizeof *purposes };
    choose_nth(_i);
    if (is("repeat_token")) return; /* one example a symbol and length */
    if (is("count")) return;        /* mostly pass: about 20 of the pairs of examples are alike */
    if (is("text")) return; /* fewer places to start from than items; see text_holds_out_its_end */
    uint64_t *hashes = ALLOCATE(PURPOSES * ITEMS, uint64_t);
    for (size_t p = 0; p < PURPOSES; p++) {
        Examples batch = draw(purposes[p], ITEMS, LENGTH);
        for (size_t i = 0; i < ITEMS; i++)
            hashes[p * ITEMS + i] =
                fnv(0xcbf29ce484222325, nth(&batch, i).tokens, LENGTH * sizeof(int32_t));
        examples_free(&batch);
    }
    qsort(hashes, PURPOSES * ITEMS, sizeof *hashes, by_value);
    for (size_t i = 1; i < PURPOSES * ITEMS; i++) ck_assert_uint_ne(hashes[i - 1], hashes[i]);
    free(hashes);
}
END_TEST

/* Stability, not correctness: these hashes are our own output. Where one changes, the data of old
   results cannot be made again: change RNG_VERSION with it. */
START_TEST(data_are_those_of_earlier_versions) {
    static const struct {
        const char *task;
        uint64_t hash;
    } released[] = {{"copy", 18306246400594811781u},
                    {"recall", 10850964885162201439u},
                    {"induction", 379030345669570678u}};
    choose_nth(_i);
    Examples batch = draw(RNG_TRAIN, 8, 41);
    size_t tokens = batch.items * batch.length;
    uint64_t hash = 0xcbf29ce484222325;
    hash = fnv(hash, batch.tokens, tokens * sizeof *batch.tokens);
    hash = fnv(hash, batch.targets, tokens * sizeof *batch.targets);
    hash = fnv(hash, batch.scored, tokens);
    hash = fnv(hash, batch.distance, tokens * sizeof *batch.distance);
    for (size_t i = 0; i < sizeof released / sizeof *released; i++)
        if (!strcmp(released[i].task, task->name)) ck_assert_uint_eq(hash, released[i].hash);
    examples_free(&batch);
}
END_TEST

/* ---- copy -------------------------------------------------------------------------------- */

START_TEST(copy_says_the_string_again) {
    choose("copy");
    for (size_t length = 4; length <= 41; length++) {
        size_t n = (length - 2) / 2;
        Examples batch = draw(RNG_TEST, 20, length);
        for (size_t i = 0; i < batch.items; i++) {
            Example e = nth(&batch, i);
            ck_assert_str_eq(text(e.tokens[0]), "BOS");
            ck_assert_str_eq(text(e.tokens[n + 1]), "SEP");
            if (length % 2) ck_assert_str_eq(text(e.tokens[length - 1]), "EOS");
            for (size_t t = 0; t < length; t++) {
                ck_assert_uint_eq(e.scored[t], t >= n + 1 && t <= 2 * n + 1);
                ck_assert_int_eq(e.distance[t], e.scored[t] ? (int32_t)n : 0);
                if (!e.scored[t]) continue;
                if (t == 2 * n + 1)
                    ck_assert_str_eq(text(e.targets[t]), "EOS");
                else
                    ck_assert_int_eq(e.targets[t], e.tokens[t - n]);
            }
        }
        examples_free(&batch);
    }
}
END_TEST

START_TEST(copy_draws_symbols_uniformly) {
    enum { ALPHABET = 5, LENGTH = 42, ITEMS = 2000 };
    choose("copy");
    set("alphabet", ALPHABET);
    ck_assert_int_eq(task->vocabulary(options), 3 + ALPHABET);
    ck_assert_double_eq(task->chance(options), 1.0 / (1 + ALPHABET)); /* EOS is an answer too */
    Examples batch = draw(RNG_TEST, ITEMS, LENGTH);
    double counts[ALPHABET] = {0}, follows[ALPHABET * ALPHABET] = {0};
    for (size_t i = 0; i < ITEMS; i++) {
        const int32_t *x = nth(&batch, i).tokens + 1;
        for (size_t j = 0; j < 20; j++) counts[x[j] - 3]++;
        for (size_t j = 1; j < 20; j += 2) follows[(x[j - 1] - 3) * ALPHABET + x[j] - 3]++;
    }
    check_uniform(counts, ALPHABET);
    check_uniform(follows, ALPHABET * ALPHABET);
    examples_free(&batch);
}
END_TEST

START_TEST(copy_without_repeats_uses_a_symbol_once) {
    enum { ALPHABET = 20, LENGTH = 43 }; /* all of them: the longest string that there is */
    choose("copy");
    set("alphabet", ALPHABET);
    set("repeats", false);
    Examples batch = draw(RNG_TEST, 500, LENGTH);
    double firsts[ALPHABET] = {0};
    for (size_t i = 0; i < batch.items; i++) {
        Example e = nth(&batch, i);
        bool seen[ALPHABET] = {false};
        for (size_t j = 1; j <= ALPHABET; j++) {
            ck_assert(!seen[e.tokens[j] - 3]);
            seen[e.tokens[j] - 3] = true;
        }
        firsts[e.tokens[1] - 3]++;
        for (size_t t = ALPHABET + 1; t < 2 * ALPHABET + 1; t++) {
            size_t place_of_answer = 1;
            while (e.tokens[place_of_answer] != e.targets[t]) place_of_answer++;
            ck_assert_uint_eq(t - (size_t)e.distance[t], place_of_answer);
        }
    }
    check_uniform(firsts, ALPHABET);
    examples_free(&batch);
}
END_TEST

START_TEST(copy_refuses) {
    choose("copy");
    ck_assert_ptr_nonnull(task->refuse(options, 0));
    ck_assert_str_eq(task->refuse(options, 3),
                     "needs at least 4 tokens (BOS, a symbol, SEP, the symbol)");
    ck_assert_ptr_null(task->refuse(options, 4));
    ck_assert_ptr_null(task->refuse(options, 100000)); /* symbols may repeat */
    set("repeats", false);
    ck_assert_ptr_null(task->refuse(options, 67));
    ck_assert_str_eq(task->refuse(options, 68),
                     "repeats = false with alphabet = 32 has at most 2 * 32 + 3 = 67 tokens");
}
END_TEST

/* ---- recall ------------------------------------------------------------------------------ */

START_TEST(recall_is_well_defined) {
    enum { PAIRS = 8, KEYS = 24, VALUES = 16, LENGTH = 64, ITEMS = 10000, QUERIES = 1 + 2 * PAIRS };
    const bool answers = _i == 0;
    const size_t stride = answers ? 2 : 1;
    const double asked_for = (double)((LENGTH - QUERIES + stride - 1) / stride);
    choose("recall");
    set("keys", KEYS);
    set("values", VALUES);
    set("answers", answers);
    ck_assert_int_eq(task->vocabulary(options), 1 + KEYS + VALUES);
    Examples batch = draw(RNG_TEST, ITEMS, LENGTH);
    double asked[PAIRS] = {0}, keys[KEYS] = {0}, values[VALUES] = {0}, right = 0, next = 0;
    Rng rng = rng_stream(SEED, RNG_TEST, 1, 0);
    for (size_t i = 0; i < ITEMS; i++) {
        Example e = nth(&batch, i);
        ck_assert_str_eq(text(e.tokens[0]), "BOS");
        int place_of[1 + KEYS + VALUES] = {0};
        for (int t = 1; t < QUERIES; t++) {
            ck_assert_int_eq(text(e.tokens[t])[0], t % 2 ? 'k' : 'v');
            /* A key and a value belong to one pair. */
            ck_assert(place_of[e.tokens[t]] == 0 && !e.scored[t]);
            place_of[e.tokens[t]] = t;
        }
        keys[e.tokens[1] - 1]++;
        values[e.tokens[2] - 1 - KEYS]++;
        for (size_t t = QUERIES; t < LENGTH; t++) {
            if (answers && (t - QUERIES) % 2) { /* the value of the query in front of it */
                ck_assert(!e.scored[t] && e.tokens[t] == e.targets[t - 1]);
                continue;
            }
            int pair = place_of[e.tokens[t]]; /* 0: neither a key nor a value of the head */
            ck_assert(pair % 2 == 1 && e.scored[t] && e.targets[t] == e.tokens[pair + 1] &&
                      e.distance[t] == (int)t - pair);
            asked[pair / 2]++;
            right += e.targets[t] == e.tokens[2 + 2 * rng_below(&rng, PAIRS)];
            next += t + stride < LENGTH && e.tokens[t + stride] == e.tokens[t];
        }
    }
    check_uniform(asked, PAIRS);
    check_uniform(keys, KEYS);
    check_uniform(values, VALUES);
    check_share(next, ITEMS * (asked_for - 1), 1.0 / PAIRS); /* drawn with replacement */
    /* Chance is a guess among the values of the context, the best without matching keys. */
    check_share(right, ITEMS * asked_for, task->chance(options));
    examples_free(&batch);
}
END_TEST

START_TEST(recall_asks_for_long_relations) {
    enum { PAIRS = 64, LENGTH = 2048, QUERIES = LENGTH - 1 - 2 * PAIRS };
    choose("recall");
    set("pairs", PAIRS);
    Examples batch = draw(RNG_TEST, 100, LENGTH);
    double far = 0;
    for (size_t t = 0; t < batch.items * LENGTH; t++) far += batch.distance[t] > 1536;
    /* Of the places that ask, those more than 1536 after the key; keys are at 1, 3 .. 127. */
    double expected = 0;
    for (int key = 1; key < 2 * PAIRS; key += 2)
        expected += (LENGTH - 1 - (key + 1536)) / (double)QUERIES / PAIRS;
    ck_assert_double_eq_tol(expected, 0.233, 0.001);
    check_share(far, (double)batch.items * (QUERIES + 1) / 2, expected);
    examples_free(&batch);
}
END_TEST

START_TEST(recall_refuses) {
    choose("recall");
    ck_assert_ptr_nonnull(task->refuse(options, 0));
    ck_assert_str_eq(task->refuse(options, 17), "needs at least 2 * pairs + 2 = 18 tokens");
    ck_assert_ptr_null(task->refuse(options, 18));
    set("pairs", 128); /* as many as there are keys and values */
    ck_assert_ptr_nonnull(task->refuse(options, 257));
    ck_assert_ptr_null(task->refuse(options, 258));
    set("keys", 127);
    ck_assert_str_eq(task->refuse(options, 258),
                     "keys = 127 is less than pairs = 128: each pair has its own");
    set("keys", 128);
    set("values", 127);
    ck_assert_str_eq(task->refuse(options, 258),
                     "values = 127 is less than pairs = 128: each pair has its own");
}
END_TEST

/* The gap law: cell g (two tokens) behind the pairs with P(g) ~ (g + 1)^(gap - 1), without
   replacement; the first key takes its cell first, so that its cells have this law exactly. */
START_TEST(recall_asks_once_by_the_gap_law) {
    enum { PAIRS = 3, QUERIES = 1 + 2 * PAIRS, CELLS = 12, LENGTH = QUERIES + 2 * CELLS + 1 };
    enum { ITEMS = 20000, FILLERS = 4 };
    const double gap = _i ? 0.01 : 0.7;
    choose("recall");
    set("pairs", PAIRS);
    set("gap", gap);
    set("fillers", FILLERS);
    set("answers", false);
    ck_assert(masked());
    ck_assert_int_eq(task->vocabulary(options), 1 + 128 + 128 + FILLERS);
    Examples batch = draw(RNG_TEST, ITEMS, LENGTH);
    double cells[CELLS] = {0}, fillers[FILLERS] = {0}, law[CELLS], sum = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        const Example e = nth(&batch, i);
        int asked[PAIRS] = {0};
        for (size_t t = QUERIES; t < LENGTH; t++) {
            const char *word = text(e.tokens[t]);
            ck_assert_int_eq(word[0] == 'k' && word[1], e.scored[t]);
            if (!e.scored[t]) { /* fillers are neither keys nor values */
                ck_assert(word[0] >= 'a' && word[0] < 'a' + FILLERS && !word[1]);
                fillers[word[0] - 'a']++;
                continue;
            }
            ck_assert_uint_eq((t - QUERIES) % 2, 0);
            const size_t pair = t - (size_t)e.distance[t];
            ck_assert(pair < QUERIES && pair % 2 && e.tokens[pair] == e.tokens[t] &&
                      e.targets[t] == e.tokens[pair + 1]);
            asked[pair / 2]++;
            if (pair == 1) cells[(t - QUERIES) / 2]++;
        }
        for (int p = 0; p < PAIRS; p++) ck_assert_int_eq(asked[p], 1);
    }
    for (int g = 0; g < CELLS; g++) sum += law[g] = pow(g + 1, gap - 1);
    for (int g = 0; g < CELLS; g++) check_share(cells[g], ITEMS, law[g] / sum);
    check_uniform(fillers, FILLERS);
    examples_free(&batch);
}
END_TEST

START_TEST(recall_updates_count) {
    enum { PAIRS = 5, UPDATES = 2, QUERIES = 1 + 2 * (PAIRS + UPDATES), LENGTH = 60, ITEMS = 5000 };
    choose("recall");
    set("pairs", PAIRS);
    set("updates", UPDATES);
    ck_assert_double_eq(task->chance(options), 1.0 / PAIRS);
    Examples batch = draw(RNG_TEST, ITEMS, LENGTH);
    double updated = 0, all = 0, seconds[QUERIES] = {0};
    for (size_t i = 0; i < ITEMS; i++) {
        const Example e = nth(&batch, i);
        int latest[1 + 128] = {0}, twice[1 + 128] = {0}, again = 0;
        for (int t = 1; t < QUERIES; t += 2) {
            if (latest[e.tokens[t]]) again++, twice[e.tokens[t]] = 1, seconds[t]++;
            latest[e.tokens[t]] = t;
            for (int u = 2; u < t; u += 2) ck_assert_int_ne(e.tokens[u], e.tokens[t + 1]);
        }
        ck_assert_int_eq(again, UPDATES);
        for (int t = QUERIES; t < LENGTH; t += 2) {
            const int pair = latest[e.tokens[t]];
            ck_assert(pair && e.scored[t] && e.targets[t] == e.tokens[pair + 1]);
            ck_assert_int_eq(e.distance[t], t - pair);
            updated += twice[e.tokens[t]], all++;
        }
    }
    check_share(updated, all, (double)UPDATES / PAIRS); /* each key as often as any other */
    ck_assert_double_gt(seconds[3], 0); /* updates stand among the pairs, not behind them */
    examples_free(&batch);
    set("updates", 6);
    ck_assert_str_eq(task->refuse(options, 99), "updates = 6 is more than pairs = 5");
    set("updates", 5);
    set("values", 9);
    ck_assert_str_eq(task->refuse(options, 99),
                     "values = 9 is less than pairs + updates = 10: each pair has its own");
    set("values", 10);
    ck_assert_str_eq(task->refuse(options, 21), "needs at least 2 * (pairs + updates) + 2 = 22 "
                                                "tokens");
    ck_assert_ptr_null(task->refuse(options, 22));
}
END_TEST

START_TEST(recall_refuses_gap_without_fillers) {
    choose("recall");
    set("fillers", 2);
    ck_assert_str_eq(task->refuse(options, 99), "fillers have a place only with gap above 0");
    set("gap", 0.0001);
    ck_assert_str_eq(task->refuse(options, 99), "gap is 0, or from 0.001 to 1");
    set("gap", 1);
    ck_assert_str_eq(task->refuse(options, 32),
                     "needs at least 2 * updates + 4 * pairs + 1 = 33 tokens");
    ck_assert_ptr_null(task->refuse(options, 33));
    set("fillers", 0);
    ck_assert_str_eq(task->refuse(options, 99),
                     "gap needs fillers of at least 1, for the tokens between the queries");
}
END_TEST

/* ---- induction --------------------------------------------------------------------------- */

START_TEST(induction_asks_for_what_followed_the_key) {
    enum { LENGTH = 20, ITEMS = 10000, PLACES = LENGTH - 3, VOCABULARY = 6 };
    choose("induction");
    set("vocabulary", VOCABULARY);
    ck_assert_int_eq(task->vocabulary(options), 2 + VOCABULARY);
    ck_assert_double_eq(task->chance(options), 1.0 / VOCABULARY);
    Examples batch = draw(RNG_TEST, ITEMS, LENGTH);
    double places[PLACES] = {0}, answers[VOCABULARY] = {0};
    for (size_t i = 0; i < ITEMS; i++) {
        Example e = nth(&batch, i);
        int keys = 0;
        size_t first = LENGTH;
        for (size_t t = LENGTH; t-- > 0;) {
            const char *name = text(e.tokens[t]);
            ck_assert_uint_eq(e.scored[t], t == LENGTH - 1);
            ck_assert_int_eq(!strcmp(name, "BOS"), t == 0);
            if (!strcmp(name, "KEY")) keys++, first = t;
        }
        ck_assert_int_eq(keys, 2);
        ck_assert_str_eq(text(e.tokens[LENGTH - 1]), "KEY");
        ck_assert_int_eq(e.targets[LENGTH - 1], e.tokens[first + 1]);
        ck_assert_int_eq(e.distance[LENGTH - 1], (int)(LENGTH - 1 - first));
        places[first - 1]++;
        answers[e.targets[LENGTH - 1] - 2]++;
    }
    check_uniform(places, PLACES);
    check_uniform(answers, VOCABULARY);
    examples_free(&batch);
}
END_TEST

START_TEST(induction_refuses) {
    choose("induction");
    ck_assert_ptr_nonnull(task->refuse(options, 0));
    ck_assert_str_eq(task->refuse(options, 3), "needs at least 4 tokens (BOS, KEY, a symbol, KEY)");
    ck_assert_ptr_null(task->refuse(options, 4));
}
END_TEST

/* ---- strings answered with strings --------------------------------------------------------- */

static bool shows(int32_t token, const char *name) {
    return !strcmp(text(token), name);
}

/* BOS x1 .. xn SEP, then answers that are read, or empty slots, and EOS where there is room; the
   scored places and what is read there. */
static void check_layout(const Example *e, size_t length, size_t n, size_t m, bool slots) {
    const size_t first = n + 1 + slots, end = n + 2 + m;
    ck_assert(shows(e->tokens[0], "BOS") && shows(e->tokens[n + 1], "SEP"));
    for (size_t t = 0; t < length; t++) {
        ck_assert_uint_eq(e->scored[t], t >= first && t < end);
        if (t > n + 1 && t < end && slots) ck_assert_str_eq(text(e->tokens[t]), "_");
        if (t > n + 1 && t < end && !slots) ck_assert_int_eq(e->tokens[t], e->targets[t - 1]);
        if (t >= end) ck_assert_str_eq(text(e->tokens[t]), "EOS");
    }
    if (!slots) ck_assert_str_eq(text(e->targets[end - 1]), "EOS");
}

START_TEST(copy_and_reverse_fill_slots) {
    static const char *const names[] = {"copy", "reverse"};
    const bool reverse = _i / 2, slots = _i % 2;
    choose(names[reverse]);
    set("slots", slots);
    ck_assert_int_eq(task->vocabulary(options), 3 + 32 + slots);
    ck_assert_double_eq(task->chance(options), 1.0 / (slots ? 32 : 33));
    ck_assert_int_eq(masked(), slots);
    for (size_t length = 4; length <= 41; length++) {
        const size_t n = (length - 2) / 2, first = n + 1 + slots;
        Examples batch = draw(RNG_TEST, 20, length);
        for (size_t i = 0; i < batch.items; i++) {
            const Example e = nth(&batch, i);
            check_layout(&e, length, n, n, slots);
            for (size_t j = 0; j < n; j++) {
                const size_t from = reverse ? n - j : 1 + j;
                ck_assert_int_eq(e.targets[first + j], e.tokens[from]);
                ck_assert_int_eq(e.distance[first + j], (int)(first + j - from));
            }
        }
        examples_free(&batch);
    }
}
END_TEST

START_TEST(repeat_token_asks_when_to_stop) {
    enum { LENGTH = 17, N = 7, ITEMS = 4000, ALPHABET = 5 };
    choose("repeat_token");
    set("alphabet", ALPHABET);
    ck_assert_double_eq(task->chance(options), 0.5);
    Examples batch = draw(RNG_TEST, ITEMS, LENGTH);
    double counts[ALPHABET] = {0};
    for (size_t i = 0; i < ITEMS; i++) {
        const Example e = nth(&batch, i);
        check_layout(&e, LENGTH, N, N, false);
        for (int j = 0; j < N; j++) ck_assert_int_eq(e.targets[N + 1 + j], e.tokens[1]);
        /* One more x than was said, counted from SEP back; for EOS, BOS. */
        for (int j = 0; j <= N; j++) ck_assert_int_eq(e.distance[N + 1 + j], 2 * j + 1);
        counts[text(e.tokens[1])[0] - 'a']++;
    }
    check_uniform(counts, ALPHABET);
    ck_assert_str_eq(task->refuse(options, 3),
                     "needs at least 4 tokens (BOS, a symbol, SEP, the symbol)");
    examples_free(&batch);
}
END_TEST

START_TEST(selective_copy_leaves_out_blanks) {
    enum { SYMBOLS = 3, LENGTH = 16, PLACES = LENGTH - 2 - SYMBOLS, ITEMS = 5000 };
    const bool slots = _i;
    choose("selective_copy");
    ck_assert_str_eq(task->refuse(options, 33), "needs at least 2 * symbols + 2 = 34 tokens");
    ck_assert_ptr_null(task->refuse(options, 34));
    set("symbols", SYMBOLS);
    set("slots", slots);
    ck_assert_double_eq(task->chance(options), 1.0 / (16 + !slots));
    Examples batch = draw(RNG_TEST, ITEMS, LENGTH);
    double places[PLACES] = {0}, symbols[16] = {0};
    for (size_t i = 0; i < ITEMS; i++) {
        const Example e = nth(&batch, i);
        const size_t first = PLACES + 1 + slots;
        size_t found = 0;
        check_layout(&e, LENGTH, PLACES, SYMBOLS, slots);
        for (size_t t = 1; t <= PLACES; t++) {
            if (shows(e.tokens[t], ".")) continue;
            ck_assert_int_eq(e.targets[first + found], e.tokens[t]);
            ck_assert_int_eq(e.distance[first + found], (int)(first + found - t));
            symbols[text(e.tokens[t])[0] - 'a']++;
            places[t - 1]++;
            found++;
        }
        ck_assert_uint_eq(found, SYMBOLS);
    }
    for (int p = 0; p < PLACES; p++) check_share(places[p], ITEMS, (double)SYMBOLS / PLACES);
    check_uniform(symbols, 16);
    examples_free(&batch);
}
END_TEST

START_TEST(sort_puts_symbols_in_order) {
    enum { LENGTH = 31, N = 14, ITEMS = 500 };
    static const char *const names[] = {"sort", "bucket_sort"};
    choose(names[_i]);
    const bool slots = _i; /* their defaults */
    ck_assert_int_eq(task->vocabulary(options), slots ? 3 + 5 + 1 : 3 + 64);
    ck_assert_int_eq(masked(), slots);
    Examples batch = draw(RNG_TEST, ITEMS, LENGTH);
    for (size_t i = 0; i < ITEMS; i++) {
        const Example e = nth(&batch, i);
        const int32_t *answers = e.targets + N + 1 + slots;
        int surplus[68] = {0};
        check_layout(&e, LENGTH, N, N, slots);
        for (int j = 0; j < N; j++) surplus[e.tokens[1 + j]]++, surplus[answers[j]]--;
        for (int v = 0; v < task->vocabulary(options); v++) ck_assert_int_eq(surplus[v], 0);
        for (int j = 1; j < N; j++) ck_assert_int_le(answers[j - 1], answers[j]);
        for (int t = N + 1 + slots; t < 2 * N + 2; t++) ck_assert_int_eq(e.distance[t], t - 1);
    }
    examples_free(&batch);
    set("repeats", false);
    ck_assert_str_eq(task->refuse(options, 200),
                     slots ? "repeats = false with alphabet = 5 has at most 2 * 5 + 3 = 13 tokens"
                           : "repeats = false with alphabet = 64 has at most 2 * 64 + 3 = 131 "
                             "tokens");
}
END_TEST

START_TEST(addition_adds) {
    enum { LENGTH = 36, DIGITS = 10, ITEMS = 3000 }; /* 3 d + 4 = 34 tokens, EOS twice */
    const bool reversed = _i;
    choose("addition");
    set("reversed", reversed);
    ck_assert_double_eq(task->chance(options), 1.0 / 11);
    ck_assert_str_eq(task->refuse(options, 6),
                     "needs at least 7 tokens (BOS, 1 digit, +, 1 digit, SEP, 2 digits)");
    Examples batch = draw(RNG_TEST, ITEMS, LENGTH);
    double digits[10] = {0}, carries = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        const Example e = nth(&batch, i);
        check_layout(&e, LENGTH, 2 * DIGITS + 1, DIGITS + 1, false);
        ck_assert_str_eq(text(e.tokens[DIGITS + 1]), "+");
        static const int starts[] = {1, DIGITS + 2, 2 * DIGITS + 3}; /* a, b, the sum */
        uint64_t numbers[3] = {0};
        for (int k = 0; k < 3; k++) {
            const int count = DIGITS + (k == 2);
            for (int j = 0; j < count; j++) {
                const int place = starts[k] + (reversed ? count - 1 - j : j);
                numbers[k] = 10 * numbers[k] + (uint64_t)(text(e.tokens[place])[0] - '0');
                if (k < 2) digits[text(e.tokens[place])[0] - '0']++;
            }
        }
        ck_assert_uint_eq(numbers[0] + numbers[1], numbers[2]);
        carries += numbers[2] >= 10000000000u;
        /* Digit j of the sum: back to its own digit of a; lowest digits first, to the one before,
           whose sum tells the carry. */
        for (int j = 0; j <= DIGITS; j++) {
            const int from = j ? j : 1, t = 2 * DIGITS + 2 + j;
            ck_assert_int_eq(e.distance[t], t - from);
        }
    }
    check_uniform(digits, 10);
    check_share(carries, ITEMS, (1 - 1e-10) / 2); /* of pairs of 10-digit numbers */
    examples_free(&batch);
}
END_TEST

/* ---- one question at the end --------------------------------------------------------------- */

START_TEST(missing_duplicate_hides_one_symbol) {
    enum { LENGTH = 15, HALF = 6, ITEMS = 6000 }; /* odd: EOS behind SEP */
    choose("missing_duplicate");
    ck_assert_double_eq(task->chance(options), 0.5);
    ck_assert(masked());
    Examples batch = draw(RNG_TEST, ITEMS, LENGTH);
    double places[2 * HALF] = {0}, answers[2] = {0};
    for (size_t i = 0; i < ITEMS; i++) {
        const Example e = nth(&batch, i);
        int hidden = 0;
        ck_assert(shows(e.tokens[0], "BOS") && shows(e.tokens[13], "SEP") &&
                  shows(e.tokens[14], "EOS"));
        for (int t = 1; t <= 2 * HALF; t++)
            if (shows(e.tokens[t], "_")) {
                ck_assert_int_eq(hidden, 0);
                hidden = t;
            }
        ck_assert_int_gt(hidden, 0);
        for (int t = 0; t < LENGTH; t++) ck_assert_uint_eq(e.scored[t], t == 13);
        e.tokens[hidden] = e.targets[13];
        for (int t = 1; t <= HALF; t++) ck_assert_int_eq(e.tokens[t], e.tokens[t + HALF]);
        ck_assert_int_eq(e.distance[13], 13 - (hidden > HALF ? hidden - HALF : hidden));
        places[hidden - 1]++;
        answers[text(e.targets[13])[0] - 'a']++;
    }
    check_uniform(places, 2 * HALF);
    check_uniform(answers, 2);
    ck_assert_str_eq(task->refuse(options, 3),
                     "needs at least 4 tokens (BOS, a symbol, its blank, SEP)");
    examples_free(&batch);
}
END_TEST

START_TEST(parity_is_that_of_all_bits) {
    enum { LENGTH = 10, ITEMS = 10000 };
    choose("parity");
    ck_assert_int_eq(task->vocabulary(options), 5);
    Examples batch = draw(RNG_TEST, ITEMS, LENGTH);
    double strings[256] = {0};
    for (size_t i = 0; i < ITEMS; i++) {
        const Example e = nth(&batch, i);
        int bits = 0, ones = 0;
        for (int t = 1; t < 9; t++) {
            const int bit = text(e.tokens[t])[0] - '0';
            bits = 2 * bits + bit, ones += bit;
        }
        strings[bits]++;
        ck_assert_str_eq(text(e.tokens[9]), "SEP");
        ck_assert_str_eq(text(e.targets[9]), ones % 2 ? "1" : "0");
        ck_assert_int_eq(e.distance[9], 8);
    }
    check_uniform(strings, 256);
    ck_assert_str_eq(task->refuse(options, 2), "needs at least 3 tokens (BOS, a bit, SEP)");
    examples_free(&batch);
}
END_TEST

/* The programs are run again, statement by statement. */
START_TEST(count_runs_a_program) {
    enum { LENGTH = 60, ITEMS = 3000, VARIABLES = 3, LARGEST = 4 };
    choose("count");
    ck_assert_str_eq(task->refuse(options, 3), "needs at least variables + 3 = 4 tokens");
    ck_assert_int_eq(task->vocabulary(options), 2 + 3 + 11);
    set("variables", VARIABLES);
    set("largest", LARGEST);
    ck_assert_double_eq(task->chance(options), 0.2);
    Examples batch = draw(RNG_TEST, ITEMS, LENGTH);
    double sets = 0, passes = 0, free_increments = 0, all = 0, asked[VARIABLES] = {0};
    for (size_t i = 0; i < ITEMS; i++) {
        const Example e = nth(&batch, i);
        int value[VARIABLES] = {-1, -1, -1}, set_at[VARIABLES] = {0};
        for (int t = 1; t < LENGTH - 1; t++) {
            const char *word = text(e.tokens[t]);
            const int v = word[0] - 'a';
            const bool first = t <= VARIABLES, pass = !strcmp(word, "pass");
            bool full = false;
            for (int w = 0; w < VARIABLES; w++) full |= value[w] == LARGEST;
            if (!strcmp(word + 1, "=0")) {
                ck_assert(!first || value[v] == -1);
                value[v] = 0, set_at[v] = t;
            } else {
                ck_assert(!first && (pass || !strcmp(word + 1, "++")));
            }
            if (!first && !full) { /* nothing in the way of an increment */
                all++;
                sets += !strcmp(word + 1, "=0");
                passes += pass;
                free_increments += !strcmp(word + 1, "++");
            }
            if (!strcmp(word + 1, "++")) ck_assert_int_le(++value[v], LARGEST);
        }
        const char *question = text(e.tokens[LENGTH - 1]);
        const int v = question[0] - 'a';
        ck_assert_str_eq(question + 1, "?");
        ck_assert_int_eq(atoi(text(e.targets[LENGTH - 1])), value[v]);
        ck_assert_int_eq(e.distance[LENGTH - 1], LENGTH - 1 - set_at[v]);
        asked[v]++;
    }
    check_uniform(asked, VARIABLES);
    check_share(sets, all, 1.0 / 58);
    check_share(free_increments, all, 7.0 / 58);
    check_share(passes, all, 50.0 / 58);
    examples_free(&batch);
}
END_TEST

START_TEST(nth_token_counts_from_an_end) {
    enum { LENGTH = 23, N = LENGTH - 3, INDICES = 12, ITEMS = 6000 };
    const bool from_end = _i;
    choose("nth_token");
    ck_assert_str_eq(task->refuse(options, 3), "needs at least 4 tokens (BOS, a symbol, QUERY, 1)");
    set("from", from_end);
    set("indices", INDICES); /* fewer than symbols: none further is asked for */
    Examples batch = draw(RNG_TEST, ITEMS, LENGTH);
    double indices[INDICES] = {0};
    for (size_t i = 0; i < ITEMS; i++) {
        const Example e = nth(&batch, i);
        int k;
        ck_assert_str_eq(text(e.tokens[N + 1]), "QUERY");
        ck_assert_int_eq(sscanf(text(e.tokens[N + 2]), "[%d]", &k), 1);
        const int place = from_end ? N + 1 - k : k;
        ck_assert_int_eq(e.targets[N + 2], e.tokens[place]);
        ck_assert_int_eq(e.distance[N + 2], N + 2 - place);
        indices[k - 1]++;
    }
    check_uniform(indices, INDICES);
    examples_free(&batch);
}
END_TEST

START_TEST(offset_asks_for_the_token_a_few_steps_back) {
    enum { LENGTH = 30, BACK = 7 };
    choose("offset");
    ck_assert_str_eq(task->refuse(options, 5), "needs at least back + 2 = 6 tokens");
    ck_assert_ptr_null(task->refuse(options, 6));
    set("back", BACK);
    Examples batch = draw(RNG_TEST, 1000, LENGTH);
    double symbols[16] = {0};
    for (size_t i = 0; i < batch.items; i++) {
        const Example e = nth(&batch, i);
        for (size_t t = 0; t < LENGTH; t++) {
            ck_assert_uint_eq(e.scored[t], t > BACK);
            if (t <= BACK) continue;
            ck_assert_int_eq(e.targets[t], e.tokens[t - BACK]);
            ck_assert_int_eq(e.distance[t], BACK);
        }
        for (size_t t = 1; t < LENGTH; t++) symbols[text(e.tokens[t])[0] - 'a']++;
    }
    check_uniform(symbols, 16);
    examples_free(&batch);
}
END_TEST

/* ---- needle ---------------------------------------------------------------------------------- */

START_TEST(needle_hides_pairs_evenly) {
    enum { LENGTH = 23, CELLS = LENGTH - 1 - 2 - 1, ITEMS = 10000 };
    choose("needle");
    set("needles", 1);
    ck_assert_double_eq(task->chance(options), 1.0 / 64);
    ck_assert(masked());
    Examples batch = draw(RNG_TEST, ITEMS, LENGTH);
    double places[CELLS] = {0}, fillers[32] = {0};
    for (size_t i = 0; i < ITEMS; i++) {
        const Example e = nth(&batch, i);
        const size_t place = LENGTH - 1 - (size_t)e.distance[LENGTH - 1];
        ck_assert_str_eq(text(e.tokens[LENGTH - 2]), "QUERY");
        ck_assert_int_eq(e.tokens[place], e.tokens[LENGTH - 1]);
        ck_assert_int_eq(e.tokens[place + 1], e.targets[LENGTH - 1]);
        for (size_t t = 1; t < LENGTH - 2; t++)
            if (t != place && t != place + 1) fillers[e.tokens[t] - 2]++;
        places[place - 1]++;
    }
    check_uniform(places, CELLS);
    check_uniform(fillers, 32);
    examples_free(&batch);
}
END_TEST

/* Three keys with two values each, two of them asked for: BOS .. QUERY k v v' k' v'' (v'''). */
START_TEST(needle_asks_for_all_values_in_order) {
    enum { LENGTH = 40, QUERY = LENGTH - 6, ITEMS = 3000 };
    choose("needle");
    set("needles", 3);
    set("repeats", 2);
    set("queries", 2);
    ck_assert_double_eq(task->chance(options), 1.0 / 6);
    ck_assert(!masked());
    Examples batch = draw(RNG_TEST, ITEMS, LENGTH);
    double asked[3] = {0};
    for (size_t i = 0; i < ITEMS; i++) {
        const Example e = nth(&batch, i);
        int32_t keys[3];
        int pairs = 0, kinds = 0, found[3] = {0}, place[3][2];
        for (int t = 1; t < QUERY; t++) {
            if (text(e.tokens[t])[0] != 'k' || !text(e.tokens[t])[1]) continue;
            ck_assert_int_eq(text(e.tokens[t + 1])[0], 'v');
            for (int u = t + 2; u < QUERY; u++) ck_assert_int_ne(e.tokens[u], e.tokens[t + 1]);
            int k = 0;
            while (k < kinds && keys[k] != e.tokens[t]) k++;
            if (k == kinds) keys[kinds++] = e.tokens[t];
            ck_assert(k < 3 && found[k] < 2);
            place[k][found[k]++] = t;
            pairs++;
        }
        ck_assert(pairs == 6 && kinds == 3 && shows(e.tokens[QUERY], "QUERY"));
        for (int q = 0; q < 2; q++) {
            const int at = QUERY + 1 + 3 * q;
            int k = 0;
            while (keys[k] != e.tokens[at]) ck_assert_int_lt(++k, 3);
            for (int r = 0; r < 2; r++) {
                ck_assert(e.scored[at + r]);
                ck_assert_int_eq(e.targets[at + r], e.tokens[place[k][r] + 1]);
                ck_assert_int_eq(e.distance[at + r], at + r - place[k][r]);
                if (at + r + 1 < LENGTH) ck_assert_int_eq(e.tokens[at + r + 1], e.targets[at + r]);
            }
            if (q == 0) asked[k]++;
        }
        ck_assert_int_ne(e.tokens[QUERY + 1], e.tokens[QUERY + 4]);
        for (int t = 0; t <= QUERY; t++) ck_assert(!e.scored[t]);
        ck_assert(!e.scored[QUERY + 3]);
    }
    check_uniform(asked, 3);
    examples_free(&batch);
}
END_TEST

START_TEST(needle_refuses) {
    choose("needle");
    ck_assert_str_eq(
        task->refuse(options, 10),
        "needs at least 1 + 2 * needles * repeats + queries * (1 + repeats) = 11 tokens");
    ck_assert_ptr_null(task->refuse(options, 11));
    set("queries", 5);
    ck_assert_str_eq(task->refuse(options, 99), "queries = 5 is more than needles = 4");
    set("keys", 3);
    set("queries", 1);
    ck_assert_str_eq(task->refuse(options, 99), "keys = 3 is less than needles = 4");
    set("keys", 4);
    set("repeats", 17);
    ck_assert_str_eq(task->refuse(options, 999), "values = 64 is less than needles * repeats = 68");
}
END_TEST

/* ---- flip_flop ------------------------------------------------------------------------------- */

START_TEST(flip_flop_reads_what_was_written) {
    enum { LENGTH = 61, ITEMS = 2000, PAIRS = 30 };
    choose("flip_flop");
    ck_assert_str_eq(task->refuse(options, 3), "needs at least 4 tokens (BOS, w, a bit, r)");
    Examples batch = draw(RNG_TEST, ITEMS, LENGTH);
    double writes = 0, reads = 0, ignores = 0, ones = 0, bits = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        const Example e = nth(&batch, i);
        int written = 0;
        ck_assert(shows(e.tokens[1], "w") && shows(e.tokens[LENGTH - 2], "r"));
        for (int t = 1; t < LENGTH; t += 2) {
            const char word = text(e.tokens[t])[0], bit = text(e.tokens[t + 1])[0];
            ck_assert(bit == '0' || bit == '1');
            if (word == 'w') written = t;
            ck_assert_uint_eq(e.scored[t], word == 'r');
            ck_assert_uint_eq(e.scored[t + 1], 0);
            if (word == 'r') {
                ck_assert_int_eq(e.tokens[t + 1], e.tokens[written + 1]);
                ck_assert_int_eq(e.targets[t], e.tokens[written + 1]);
                ck_assert_int_eq(e.distance[t], t - written);
            } else {
                bits++, ones += bit == '1';
            }
            if (t == 1 || t == LENGTH - 2) continue;
            writes += word == 'w', reads += word == 'r', ignores += word == 'i';
        }
    }
    check_share(ignores, (double)ITEMS * (PAIRS - 2), 0.8);
    check_share(writes, (double)ITEMS * (PAIRS - 2), 0.1);
    check_share(reads, (double)ITEMS * (PAIRS - 2), 0.1);
    check_share(ones, bits, 0.5);
    examples_free(&batch);
}
END_TEST

/* ---- mlm_grammar ------------------------------------------------------------------------- */

/* Symbols are told apart by their texts alone: three letters, a letter a feature. */
START_TEST(mlm_grammar_masks_symbols_that_agree) {
    enum { LENGTH = 47, ITEMS = 6000, SCORED = 7 /* 15 % of 47, rounded down */, LATEST = 23 };
    static const int values = 3;
    choose("mlm_grammar");
    set("values", values);
    ck_assert_int_eq(task->vocabulary(options), 27 + 3 + 2);
    ck_assert_double_eq(task->chance(options), 1.0 / 27);
    ck_assert(masked());
    Examples batch = draw(RNG_TEST, ITEMS, LENGTH);
    double keys[3] = {0}, places[LATEST] = {0};
    double answers[27] = {0}, others[27] = {0}, shown[27] = {0};
    double read[3] = {0}; /* MASK, the answer, something else */
    for (size_t i = 0; i < ITEMS; i++) {
        const Example e = nth(&batch, i);
        size_t key = 0, scored = 0;
        ck_assert_str_eq(text(e.tokens[0]), "BOS");
        for (size_t t = 1; t < LENGTH; t++) {
            if (strncmp(text(e.tokens[t]), "KEY", 3)) continue;
            ck_assert_uint_eq(key, 0);
            key = t;
        }
        ck_assert(key >= 1 && key <= LATEST);
        places[key - 1]++;
        const char kind = text(e.tokens[key])[3];
        keys[kind - 'a']++;
        for (size_t t = 1; t < LENGTH; t++) {
            char own[32];
            strcpy(own, text(e.tokens[t]));
            if (!e.scored[t]) {
                ck_assert(t == key || strlen(own) == 3); /* a symbol */
                if (t != key)
                    others[9 * (own[0] - 'a') + 3 * (own[1] - 'a') + own[2] - 'a']++;
                continue;
            }
            scored++;
            ck_assert(t > key + 1 && t < LENGTH - 1 && !e.scored[t - 1]);
            ck_assert_int_eq(e.distance[t], (int)(t - key));
            char answer[32];
            strcpy(answer, text(e.targets[t]));
            ck_assert_int_eq(answer[0], text(e.tokens[t - 1])[0]);
            ck_assert_int_eq(answer[1], text(e.tokens[t + 1])[1]);
            ck_assert_int_eq(answer[2], kind);
            answers[9 * (answer[0] - 'a') + 3 * (answer[1] - 'a') + answer[2] - 'a']++;
            const int fate = !strcmp(own, "MASK") ? 0 : !strcmp(own, answer) ? 1 : 2;
            read[fate]++;
            if (fate == 2) shown[9 * (own[0] - 'a') + 3 * (own[1] - 'a') + own[2] - 'a']++;
        }
        ck_assert_uint_eq(scored, SCORED);
    }
    check_uniform(keys, values);
    check_uniform(places, LATEST);
    check_uniform(others, 27);
    check_uniform(shown, 27);
    /* One KEY for the answers of an example: they are not independent, only nearly uniform. */
    for (int a = 0; a < 27; a++)
        ck_assert_double_eq_tol(answers[a] / (ITEMS * SCORED), 1.0 / 27, 0.004);
    check_share(read[0], (double)ITEMS * SCORED, 0.8);
    check_share(read[1], (double)ITEMS * SCORED, 0.1 + 0.1 / 27); /* a random one may be it */
    examples_free(&batch);
}
END_TEST

/* Every choice of places that are no neighbours is as likely as any other. */
START_TEST(mlm_grammar_chooses_places_evenly) {
    /* 15 % of 20 tokens are 3: with the KEY at 9, of the places 11 … 18; 20 choices. */
    enum { LENGTH = 20, ITEMS = 40000, FIRST = 11, PLACES = 8, CHOICES = 20 };
    choose("mlm_grammar");
    Examples batch = draw(RNG_TEST, ITEMS, LENGTH);
    double counts[1 << PLACES] = {0}, found[CHOICES] = {0};
    for (size_t i = 0; i < ITEMS; i++) {
        const Example e = nth(&batch, i);
        if (strncmp(text(e.tokens[9]), "KEY", 3)) continue;
        int chosen = 0;
        for (size_t p = 0; p < PLACES; p++) chosen |= e.scored[FIRST + p] << p;
        counts[chosen]++;
    }
    int choices = 0;
    for (int c = 0; c < 1 << PLACES; c++)
        if (counts[c] > 0) {
            ck_assert_int_lt(choices, CHOICES);
            found[choices++] = counts[c];
        }
    ck_assert_int_eq(choices, CHOICES);
    check_uniform(found, CHOICES);
    examples_free(&batch);
}
END_TEST

START_TEST(mlm_grammar_refuses) {
    choose("mlm_grammar");
    ck_assert_ptr_nonnull(task->refuse(options, 0));
    ck_assert_str_eq(task->refuse(options, 4),
                     "needs at least 5 tokens (BOS, KEY, a symbol, MASK, a symbol)");
    ck_assert_ptr_null(task->refuse(options, 5));
}
END_TEST

/* ---- text -------------------------------------------------------------------------------- */

START_TEST(text_holds_out_its_end) {
    enum { LENGTH = 50, ITEMS = 20000, SIZE = 1000 };
    static const RngPurpose purposes[] = {RNG_TRAIN, RNG_EVALUATE, RNG_VALIDATE, RNG_SHOW};
    choose("text");
    File *file = (File *)options;
    unsigned char bytes[SIZE]; /* no two places are followed by the same two bytes */
    for (int i = 0; i < SIZE; i++) bytes[i] = (unsigned char)(i % 2 ? i / 2 % 256 : i / 512 + 250);
    *file = (File){.path = "x.txt", .size = SIZE, .bytes = bytes};
    ck_assert_int_eq(task->vocabulary(options), 257);
    ck_assert_str_eq(task->refuse(options, 101),
                     "100 bytes of x.txt are held out, the last tenth; at most that");
    ck_assert_ptr_null(task->refuse(options, 100));
    for (size_t p = 0; p < sizeof purposes / sizeof *purposes; p++) {
        const size_t from = p ? 900 : 0, starts = (p ? 100 : 900) - LENGTH + 1;
        double *counts = ALLOCATE(starts, double);
        Examples batch = draw(purposes[p], ITEMS, LENGTH);
        for (size_t i = 0; i < ITEMS; i++) {
            const Example e = nth(&batch, i);
            size_t start = 0;
            while (bytes[start] != e.targets[0] - 1 || bytes[start + 1] != e.targets[1] - 1 ||
                   bytes[start + 2] != e.targets[2] - 1)
                start++;
            ck_assert(start >= from && start < from + starts);
            counts[start - from]++;
            ck_assert_str_eq(text(e.tokens[0]), "BOS");
            for (size_t t = 0; t < LENGTH; t++) {
                ck_assert_int_eq(e.targets[t], 1 + bytes[start + t]);
                ck_assert(t == 0 || e.tokens[t] == e.targets[t - 1]);
                ck_assert(e.scored[t] && e.distance[t] == 0);
            }
        }
        check_uniform(counts, (int)starts);
        examples_free(&batch);
        free(counts);
    }
}
END_TEST

Suite *suite_tasks(void);

Suite *suite_tasks(void) {
    Suite *suite = suite_create("tasks");
    TCase *every = tcase_create("every task");
    int count = (int)looped_tasks() + VARIANTS;
    tcase_add_loop_test(every, is_described, 0, count);
    tcase_add_loop_test(every, tokens_have_texts_of_their_own, 0, count);
    tcase_add_loop_test(every, every_length_gives_whole_examples_that_the_solver_answers, 0, count);
    tcase_add_loop_test(every, distance_reaches_the_first_token_that_is_needed, 0, count);
    tcase_add_loop_test(every, answers_cannot_be_guessed_without_the_context, 0, count);
    tcase_add_loop_test(every, no_example_is_drawn_twice, 0, count);
    tcase_add_loop_test(every, data_are_those_of_earlier_versions, 0, (int)looped_tasks());
    suite_add_tcase(suite, every);

    TCase *copy = tcase_create("copy");
    tcase_add_test(copy, copy_says_the_string_again);
    tcase_add_test(copy, copy_draws_symbols_uniformly);
    tcase_add_test(copy, copy_without_repeats_uses_a_symbol_once);
    tcase_add_test(copy, copy_refuses);
    suite_add_tcase(suite, copy);

    TCase *recall = tcase_create("recall");
    tcase_add_loop_test(recall, recall_is_well_defined, 0, 2); /* with answers, without */
    tcase_add_test(recall, recall_asks_for_long_relations);
    tcase_add_test(recall, recall_refuses);
    tcase_add_loop_test(recall, recall_asks_once_by_the_gap_law, 0, 2);
    tcase_add_test(recall, recall_updates_count);
    tcase_add_test(recall, recall_refuses_gap_without_fillers);
    suite_add_tcase(suite, recall);

    TCase *induction = tcase_create("induction");
    tcase_add_test(induction, induction_asks_for_what_followed_the_key);
    tcase_add_test(induction, induction_refuses);
    suite_add_tcase(suite, induction);

    TCase *strings = tcase_create("strings");
    tcase_add_loop_test(strings, copy_and_reverse_fill_slots, 0, 4);
    tcase_add_test(strings, repeat_token_asks_when_to_stop);
    tcase_add_loop_test(strings, selective_copy_leaves_out_blanks, 0, 2);
    tcase_add_loop_test(strings, sort_puts_symbols_in_order, 0, 2); /* and bucket_sort */
    tcase_add_loop_test(strings, addition_adds, 0, 2);
    suite_add_tcase(suite, strings);

    TCase *questions = tcase_create("one question");
    tcase_add_test(questions, missing_duplicate_hides_one_symbol);
    tcase_add_test(questions, parity_is_that_of_all_bits);
    tcase_add_test(questions, count_runs_a_program);
    tcase_add_loop_test(questions, nth_token_counts_from_an_end, 0, 2);
    tcase_add_test(questions, offset_asks_for_the_token_a_few_steps_back);
    suite_add_tcase(suite, questions);

    TCase *needle = tcase_create("needle");
    tcase_add_test(needle, needle_hides_pairs_evenly);
    tcase_add_test(needle, needle_asks_for_all_values_in_order);
    tcase_add_test(needle, needle_refuses);
    suite_add_tcase(suite, needle);

    TCase *flip_flop = tcase_create("flip_flop");
    tcase_add_test(flip_flop, flip_flop_reads_what_was_written);
    suite_add_tcase(suite, flip_flop);

    TCase *text_case = tcase_create("text");
    tcase_add_test(text_case, text_holds_out_its_end);
    suite_add_tcase(suite, text_case);

    TCase *grammar = tcase_create("mlm_grammar");
    tcase_add_test(grammar, mlm_grammar_masks_symbols_that_agree);
    tcase_add_test(grammar, mlm_grammar_chooses_places_evenly);
    tcase_add_test(grammar, mlm_grammar_refuses);
    suite_add_tcase(suite, grammar);
    return suite;
}
