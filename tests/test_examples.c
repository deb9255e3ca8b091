/* Batches: every item comes from its own stream; and the page that `data` prints. */
#include "src/examples.h"
#include "tests/task_defaults.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 5, LENGTH = 40 };

static const void *defaults(const Task *task) {
    static _Alignas(max_align_t) unsigned char options[OPTION_STRUCT_SIZE];
    task_defaults(task, options);
    return options;
}

static Examples fill(const Task *task, int64_t seed, RngPurpose purpose, uint64_t step,
                     size_t first_item, size_t items) {
    Examples batch = examples_new(items * LENGTH);
    examples_fill(task, defaults(task), seed, purpose, step, first_item, items, LENGTH, &batch);
    ck_assert_uint_eq(batch.items, items);
    ck_assert_uint_eq(batch.length, LENGTH);
    return batch;
}

static bool same(const Examples *a, size_t i, const Examples *b, size_t j) {
    i *= LENGTH, j *= LENGTH;
    return !memcmp(a->tokens + i, b->tokens + j, LENGTH * sizeof *a->tokens) &&
           !memcmp(a->targets + i, b->targets + j, LENGTH * sizeof *a->targets) &&
           !memcmp(a->scored + i, b->scored + j, LENGTH) &&
           !memcmp(a->distance + i, b->distance + j, LENGTH * sizeof *a->distance);
}

START_TEST(an_item_does_not_depend_on_its_batch) {
    enum { ITEMS = 16, FIRST = 100 };
    const Task *task = tasks[_i];
    if (task->failed) return; /* custom, which is nothing without a config */
    Examples batch = fill(task, SEED, RNG_TRAIN, 7, FIRST, ITEMS);
    Examples again = fill(task, SEED, RNG_TRAIN, 7, FIRST, ITEMS);
    for (size_t i = ITEMS; i-- > 0;) { /* backwards, one by one */
        Examples alone = fill(task, SEED, RNG_TRAIN, 7, FIRST + i, 1);
        ck_assert(same(&batch, i, &alone, 0));
        ck_assert(same(&batch, i, &again, i));
        examples_free(&alone);
    }
    /* Single examples of a task with few of them may be alike, as many as these are not. */
    bool alike = true;
    for (size_t i = 1; i < ITEMS; i++) alike = alike && same(&batch, 0, &batch, i);
    ck_assert(!alike);
    Examples others[] = {
        fill(task, SEED + 1, RNG_TRAIN, 7, FIRST, ITEMS),
        fill(task, SEED, RNG_EVALUATE, 7, FIRST, ITEMS),
        fill(task, SEED, RNG_TRAIN, 8, FIRST, ITEMS),
    };
    for (size_t o = 0; o < sizeof others / sizeof *others; o++) {
        alike = true;
        for (size_t i = 0; i < ITEMS; i++) alike = alike && same(&batch, i, &others[o], i);
        ck_assert(!alike);
        examples_free(&others[o]);
    }
    examples_free(&batch);
    examples_free(&again);
}
END_TEST

START_TEST(a_batch_that_does_not_fit_is_refused) {
    Examples batch = examples_new(2 * LENGTH - 1);
    examples_fill(tasks[0], defaults(tasks[0]), SEED, RNG_TEST, 0, 0, 2, LENGTH, &batch);
}
END_TEST

START_TEST(a_length_that_the_task_refuses_is_refused) {
    Examples batch = examples_new(LENGTH);
    examples_fill(tasks[0], defaults(tasks[0]), SEED, RNG_TEST, 0, 0, 1, 1, &batch);
}
END_TEST

/* ---- the page ---------------------------------------------------------------------------- */

/* A task that answers every third token with the token half of the way back. */
static int vocabulary(const void *options) {
    return *(const int *)options;
}
static const char *refuse(const void *options, size_t length) {
    return (void)options, length < 1 ? "too short" : NULL;
}
static double chance(const void *options) {
    return 1.0 / vocabulary(options);
}
static const char *token_text(const void *options, int32_t token, char text[32]) {
    (void)options;
    snprintf(text, 32, "t%d", token);
    return text;
}
static void generate(const void *options, Rng *rng, size_t length, Example *example) {
    (void)rng;
    for (size_t t = 0; t < length; t++) {
        bool scored = t % 3 == 2;
        example->tokens[t] = (int32_t)(t % (size_t)vocabulary(options));
        example->scored[t] = scored;
        example->distance[t] = scored ? (int32_t)(t / 2) : 0;
        example->targets[t] = scored ? example->tokens[t - t / 2] : 0;
    }
}
static const Task plain = {.name = "plain",
                           .summary = "a task for this test",
                           .vocabulary = vocabulary,
                           .refuse = refuse,
                           .generate = generate,
                           .chance = chance,
                           .token_text = token_text};

static char *page(const Task *task, const void *options, size_t items, size_t length) {
    char *text;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    Examples batch = examples_new(items * length);
    examples_fill(task, options, SEED, RNG_SHOW, 0, 0, items, length, &batch);
    examples_print(to, task, options, &batch);
    examples_free(&batch);
    fclose(to);
    return text;
}

START_TEST(a_short_example_is_printed_whole) {
    static const int four = 4;
    char *text = page(&plain, &four, 2, 9);
    ck_assert_str_eq(
        text,
        "plain: a task for this test\n"
        "vocabulary  4 tokens: t0 t1 t2 t3\n"
        "chance      25 %, a guess among the possible answers\n"
        "answer      expected after the input up to its place; from: the first place it needs\n"
        "\n"
        "example 1 of 2: 9 tokens, 3 scored\n"
        "\n"
        "place    0  1  2  3  4  5  6  7  8\n"
        "input   t0 t1 t2 t3 t0 t1 t2 t3 t0\n"
        "answer   .  . t1  .  . t3  .  . t0\n"
        "from           1        3        4\n"
        "\n"
        "example 2 of 2: 9 tokens, 3 scored\n"
        "\n"
        "place    0  1  2  3  4  5  6  7  8\n"
        "input   t0 t1 t2 t3 t0 t1 t2 t3 t0\n"
        "answer   .  . t1  .  . t3  .  . t0\n"
        "from           1        3        4\n");
    free(text);
}
END_TEST

/* Cells of 5 characters: 18 in a line. Of 3000 tokens, lines 0, 1, 165 and 166 are the ends; the
   last answer, at 2999, needs place 1500, the 7th of line 83. */
START_TEST(a_long_example_shows_its_ends_and_where_the_last_answer_comes_from) {
    static const int vocabulary_size = 1000;
    char *text = page(&plain, &vocabulary_size, 1, 3000), *rest = text;
    int places = 0, gaps = 0;
    static const int starts[] = {0, 18, 1494, 2970, 2988};
    static const char *const marks[] = {"       ... 1458 tokens, 486 of them scored ...",
                                        "       ... 1458 tokens, 486 of them scored ..."};
    for (char *line; (line = strsep(&rest, "\n"));) {
        ck_assert_uint_le(strlen(line), 100);
        if (!strncmp(line, "place", 5)) ck_assert_int_eq(atoi(line + 5), starts[places++]);
        if (!strncmp(line, "       ...", 10)) ck_assert_str_eq(line, marks[gaps++]);
        if (!strncmp(line, "vocab", 5)) ck_assert_str_eq(line + strlen(line) - 9, " ... t999");
    }
    ck_assert_int_eq(places, 5);
    ck_assert_int_eq(gaps, 2);
    free(text);
}
END_TEST

Suite *suite_examples(void);

Suite *suite_examples(void) {
    Suite *suite = suite_create("examples");
    TCase *batches = tcase_create("batches");
    tcase_add_loop_test(batches, an_item_does_not_depend_on_its_batch, 0, (int)tasks_count);
    tcase_add_exit_test(batches, a_batch_that_does_not_fit_is_refused, EXIT_INTERNAL);
    tcase_add_exit_test(batches, a_length_that_the_task_refuses_is_refused, EXIT_INTERNAL);
    suite_add_tcase(suite, batches);

    TCase *pages = tcase_create("pages");
    tcase_add_test(pages, a_short_example_is_printed_whole);
    tcase_add_test(pages, a_long_example_shows_its_ends_and_where_the_last_answer_comes_from);
    suite_add_tcase(suite, pages);
    return suite;
}
