/* example: the encoding of docs/adding-an-encoding.md does what the page says, and the page shows
   the file that was compiled. The suites that loop over all encodings have it too. */
#include "tests/golden.h"
#include "tests/hook_encodings.h"
#include "tests/tolerance.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the page -------------------------------------------------------------------------------- */

/* A whole file, or with `fenced` the lines of its blocks of C, one after the other. */
static char *text_of(const char *path, bool fenced) {
    FILE *file = fopen(path, "r");
    if (!file) ck_abort_msg("no file %s", path);
    char *all = copy_text(""), *line = NULL;
    size_t room = 0;
    bool inside = !fenced;
    while (getline(&line, &room, file) > 0) {
        if (fenced && !strncmp(line, "```", 3)) {
            inside = !strcmp(line, "```c\n");
            continue;
        }
        if (!inside) continue;
        char *longer = format_text("%s%s", all, line);
        free(all);
        all = longer;
    }
    free(line);
    fclose(file);
    return all;
}

START_TEST(the_page_shows_the_file) {
    char *file = text_of("tests/example_encoding.c", false);
    char *page = text_of("docs/adding-an-encoding.md", true);
    size_t same = 0, line = 1;
    while (file[same] && file[same] == page[same]) line += file[same++] == '\n';
    if (file[same] || page[same])
        ck_abort_msg("tests/example_encoding.c:%zu is not what docs/adding-an-encoding.md shows:\n"
                     "%.60s\n--\n%.60s",
                     line, file + same, page + same);
    free(file);
    free(page);
}
END_TEST

/* ---- the encoding ---------------------------------------------------------------------------- */

/* The formula, score by score, over two tiles of keys. */
START_TEST(formula) {
    enum { LENGTH = 300, ROWS = 280 };
    const bool causal = _i;
    GoldenAttention a =
        golden_attention("distance_table", "distances=280", LENGTH, causal, NULL, 1);
    for (size_t h = 0; h < GOLDEN_HEADS; h++)
        for (size_t i = 0; i < LENGTH; i++)
            for (size_t j = 0; j < (causal ? i + 1 : LENGTH); j++) {
                const size_t far = i > j ? i - j : j - i;
                if (far >= ROWS) continue; /* not defined */
                double wanted = golden_wave(11, far * GOLDEN_HEADS + h);
                for (size_t c = 0; c < a.d; c++)
                    wanted += golden_wave(1, (h * LENGTH + i) * a.d + c) *
                              golden_wave(2, (h * LENGTH + j) * a.d + c) / sqrt((double)a.d);
                ck_assert_double_eq_tol(a.score[(h * LENGTH + i) * LENGTH + j], wanted,
                                        TOLERANCE_ATTENTION);
            }
    golden_attention_free(&a);
}
END_TEST

/* A shape that was trained at 16 tokens. */
static EncodingShape shape_of(KindOptions *options, const char *text) {
    *options = golden_options(&encoding_distance_table, text);
    return (EncodingShape){.layers = 1,
                           .heads = 2,
                           .width = 4,
                           .head_width = 2,
                           .causal = true,
                           .trained_length = 16,
                           .options = options};
}

START_TEST(lengths_that_are_defined) {
    const Encoding *e = &encoding_distance_table;
    KindOptions options;
    EncodingShape shape = shape_of(&options, "");
    ck_assert_ptr_null(e->defined(&shape, 16, 15));
    ck_assert_str_eq(e->defined(&shape, 17, 16),
                     "distance_table has 16 distances, length 17 needs 17");
    shape = shape_of(&options, "distances=40");
    ck_assert_ptr_null(e->defined(&shape, 17, 39));
    ck_assert_ptr_nonnull(e->defined(&shape, 17, 40));
}
END_TEST

START_TEST(new_distances_start_as_the_farthest) {
    KindOptions few, many;
    const EncodingShape from = shape_of(&few, "distances=2"), to = shape_of(&many, "distances=4");
    static const real old[] = {1, 2, 3, 4}, wanted[] = {1, 2, 3, 4, 3, 4, 3, 4};
    real grown[8] = {0};
    encoding_distance_table.extend(&from, &to, 0, old, grown);
    ck_assert_mem_eq(grown, wanted, sizeof wanted);
}
END_TEST

static void keep(void *to, const PositionTable *table) {
    ck_assert_str_eq(table->name, "bias");
    ck_assert_uint_eq(table->dims[0], 3);
    ck_assert_uint_eq(table->dims[1], 2);
    memcpy(to, table->values, 6 * sizeof(double));
}

START_TEST(its_table_is_in_the_result) {
    KindOptions options;
    const EncodingShape shape = shape_of(&options, "distances=3");
    static const real values[] = {0, 1, 2, 3, 4, 5};
    const real *const layer[] = {values}, *const *const layers[] = {layer};
    double found[6] = {0};
    encoding_distance_table.tables(&shape, layers, 8, keep, found);
    for (size_t i = 0; i < 6; i++) ck_assert_double_eq(found[i], (double)i);
}
END_TEST

#ifdef REAL_DOUBLE
START_TEST(gradients) { golden_gradients("distance_table", "distances=305"); }
END_TEST
#endif

Suite *suite_example(void);
Suite *suite_example(void) {
    Suite *suite = suite_create("example");
    TCase *tests = tcase_create("example");
    tcase_add_test(tests, the_page_shows_the_file);
    tcase_add_loop_test(tests, formula, 0, 2);
    tcase_add_test(tests, lengths_that_are_defined);
    tcase_add_test(tests, new_distances_start_as_the_farthest);
    tcase_add_test(tests, its_table_is_in_the_result);
#ifdef REAL_DOUBLE
    tcase_add_test(tests, gradients);
#endif
    suite_add_tcase(suite, tests);
    return suite;
}
