/* compare: files in groups with the numbers of scipy, and every way in which runs may not fit
   together: copies, missing seeds, mixed configs, single seeds; claims with every verdict. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/lua/flatten.h"
#include "src/study_report.h"
#include "src/summary.h"
#include "src/verdict.h"
#include "tests/small_result.h"
#include "tests/vectors/statistics.h"

#define NONE ((double)NAN)
enum { SEEDS = 5, LENGTHS = 4, EXAMPLES = 200 };

static const char *const encodings_of_study[] = {"nope", "rope", "alibi"};
static const int64_t lengths_of_study[LENGTHS] = {16, 20, 32, 64};

static char folder[32];

static void make_folder(void) {
    strcpy(folder, "/tmp/test_compare_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    store_start();
}

static void remove_folder(void) {
    char *command = format_text("rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
    free(command);
}

/* ---- results without files ------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b) {
    return strcmp(((const FlatKey *)a)->key, ((const FlatKey *)b)->key);
}

/* A run of `task` with the keys "model.encoding=rope train.length=8..16", evaluated at 16, 32 and
   64 tokens. */
static Outcome run_of(const char *task, const char *keys, int64_t seed, double at16, double at32,
                      double at64) {
    const double values[] = {at16, at32, at64};
    Outcome run = {.path = format_text("%s %s s%lld", task, keys, (long long)seed),
                   .name = copy_text("x"),
                   .task = copy_text(task),
                   .encoding = copy_text("rope"),
                   .run_id = copy_text("id"),
                   .exit_reason = copy_text("done"),
                   .binary_sha256 = copy_text("45cd"),
                   .cpu = copy_text("a cpu"),
                   .completed = true,
                   .seed = seed,
                   .init_seed = seed,
                   .data_seed = seed,
                   .trained_length = 16,
                   .shortest_length = 8,
                   .length_count = 3,
                   .lengths = ALLOCATE(3, OutcomeLength)};
    run.config_sha256 = copy_text(run.path);
    for (size_t i = 0; i < 3; i++)
        run.lengths[i] =
            (OutcomeLength){.length = 16 << i,
                            .examples = EXAMPLES,
                            .undefined = isnan(values[i]) ? copy_text("no table") : NULL,
                            .metric = {values[i], values[i], 1 - values[i]}};
    run.keys.list = ALLOCATE(16, FlatKey);
    run.keys.list[run.keys.count++] = (FlatKey){copy_text("task"), copy_text(task)};
    char *words = copy_text(keys), *rest = words;
    for (char *word; (word = strsep(&rest, " "));) {
        char *equals = strchr(word, '=');
        *equals = 0;
        run.keys.list[run.keys.count++] = (FlatKey){copy_text(word), copy_text(equals + 1)};
    }
    free(words);
    qsort(run.keys.list, run.keys.count, sizeof(FlatKey), compare_keys);
    return run;
}

/* Takes over the runs. */
static Comparison compare(size_t count, const Outcome *runs) {
    Outcome *copy = ALLOCATE(count, Outcome);
    memcpy(copy, runs, count * sizeof *copy);
    Comparison comparison;
    ck_assert_ptr_null(comparison_make(&comparison, count, copy, NULL));
    return comparison;
}
#define COMPARE(runs) compare(sizeof(runs) / sizeof *(runs), runs)

static void assert_note(const Comparison *c, const char *expected) {
    for (size_t n = 0; n < c->note_count; n++)
        if (!strcmp(c->notes[n], expected)) return;
    for (size_t n = 0; n < c->note_count; n++) printf("noted: %s\n", c->notes[n]);
    ck_abort_msg("not noted: %s", expected);
}

static GroupStatistics at(const Comparison *c, size_t group, int64_t length) {
    const Quantity quantity = {QUANTITY_METRIC, METRIC_SEQUENCE_ACCURACY, length};
    return comparison_statistics(c, &c->groups[group], quantity);
}

/* Student's. */
static Interval interval_at(const Comparison *c, size_t group, int64_t length) {
    bool bootstrap;
    const Quantity quantity = {QUANTITY_METRIC, METRIC_SEQUENCE_ACCURACY, length};
    const Interval interval = comparison_interval(c, &c->groups[group], quantity, &bootstrap);
    ck_assert(!bootstrap);
    return interval;
}

/* ---- keys ------------------------------------------------------------------------------ */

START_TEST(config_as_keys) {
    FlatKeys keys;
    ck_assert_ptr_null(flatten(
        "{\"evaluate\":{\"lengths\":[16,32]},\"model\":{\"encoding\":{\"base\":10000,\"kind\":"
        "\"rope\"},\"bias\":false},\"seed\":3,\"task\":{\"alphabet\":8,\"kind\":\"copy\"},"
        "\"train\":{\"learning_rate\":0.001,\"stages\":[{\"length\":{\"from\":8,\"to\":16},"
        "\"steps\":10,\"task\":{\"alphabet\":8}}]}}",
        &keys));
    static const char *const expected[][2] = {{"evaluate.lengths", "16,32"},
                                              {"model.bias", "false"},
                                              {"model.encoding", "rope"},
                                              {"model.encoding.base", "10000"},
                                              {"seed", "3"},
                                              {"task", "copy"},
                                              {"task.alphabet", "8"},
                                              {"train.learning_rate", "0.001"},
                                              {"train.length", "8..16"},
                                              {"train.steps", "10"}};
    ck_assert_uint_eq(keys.count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < keys.count; i++) {
        ck_assert_str_eq(keys.list[i].key, expected[i][0]);
        ck_assert_str_eq(keys.list[i].value, expected[i][1]);
        ck_assert_str_eq(flatten_find(&keys, expected[i][0]), expected[i][1]);
    }
    ck_assert_ptr_null(flatten_find(&keys, "model"));
    flatten_free(&keys);
}
END_TEST

START_TEST(stages_as_keys) {
    FlatKeys keys;
    ck_assert_ptr_null(flatten("{\"task\":{\"kind\":\"recall\",\"pairs\":64},\"train\":{\"stages\":"
                               "[{\"steps\":8,\"task\":{\"pairs\":8}},{\"steps\":4,\"task\":"
                               "{\"pairs\":64}}]}}",
                               &keys));
    ck_assert_uint_eq(keys.count, 5);
    ck_assert_str_eq(flatten_find(&keys, "train.stages.1.task.pairs"), "8");
    ck_assert_str_eq(flatten_find(&keys, "train.stages.2.steps"), "4");
    ck_assert_ptr_null(flatten_find(&keys, "train.stages.2.task.pairs"));
    flatten_free(&keys);

    static const char *const broken[] = {"{\"task\":", "{\"seed\":1e999}", "{\"seed\":-1e999}"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        char *wrong = flatten(broken[i], &keys);
        ck_assert_ptr_nonnull(wrong);
        free(wrong);
        flatten_free(&keys);
    }
}
END_TEST

/* ---- files ----------------------------------------------------------------------------- */

/* The encoding's run of the study in the vectors, as a file in the folder. */
static char *write_run(size_t encoding, int64_t seed) {
    static const int64_t step[] = {30};
    static const uint8_t defined[LENGTHS] = {1, 1, 1, 1};
    int64_t examples[LENGTHS];
    double share[LENGTHS], zero[LENGTHS] = {0};
    for (size_t i = 0; i < LENGTHS; i++) {
        examples[i] = EXAMPLES;
        share[i] = golden_right[(encoding * SEEDS + (size_t)seed - 1) * LENGTHS + i] / EXAMPLES;
    }
    const char *name = encodings_of_study[encoding];
    char *json = format_text("{\"name\":\"s\",\"seed\":%d,\"init_seed\":%d,\"data_seed\":%d,"
                             "\"task\":{\"kind\":\"copy\"},\"model\":{\"encoding\":{\"kind\":"
                             "\"%s\"}},\"train\":{\"stages\":[{\"length\":16}]}}",
                             (int)seed, (int)seed, (int)seed, name);
    char *id = format_text("%s-s%d", name, (int)seed);
    char *path = format_text("%s/%s.h5", folder, id);
    ResultFile result = small_result();
    result.encoding = name;
    result.run_id = result.config_sha256 = id;
    result.seed = result.init_seed = result.data_seed = seed;
    result.trained_length = 16;
    result.resolved_json = json;
    result.table_count = result.snapshot_count = 0;
    result.by_position_count = result.by_distance_count = 0;
    result.decay.length = 0;
    result.evaluate = (ResultEvaluate){.steps = 1,
                                       .lengths = LENGTHS,
                                       .step = step,
                                       .length = lengths_of_study,
                                       .loss = zero,
                                       .token_accuracy = share,
                                       .token_accuracy_low = zero,
                                       .token_accuracy_high = share,
                                       .sequence_accuracy = share,
                                       .examples = examples,
                                       .baseline_random = zero,
                                       .baseline_majority = zero,
                                       .defined = defined};
    ck_assert_int_eq(result_write(&result, path), 0);
    free(json);
    free(id);
    return path;
}

static void assert_near(double value, double expected) {
    ck_assert_double_eq_tol(value, expected, 1e-10);
}

static void assert_differences(const Comparison *c, Quantity quantity, const double *golden) {
    Difference *differences = comparison_differences(c, &c->blocks[0], quantity);
    for (size_t pair = 0; pair < 3; pair++, golden += 6) {
        const Difference *d = &differences[pair];
        ck_assert_uint_eq(d->test.n, SEEDS);
        assert_near(d->test.mean, golden[0]);
        assert_near(d->test.t, golden[1]);
        assert_near(d->test.p, golden[2]);
        assert_near(d->holm, golden[3]);
        assert_near(d->interval.low, golden[4]);
        assert_near(d->interval.high, golden[5]);
    }
    free(differences);
}

START_TEST(files_against_scipy) {
    make_folder();
    Outcome *outcomes = ALLOCATE(3 * SEEDS, Outcome);
    for (size_t i = 0; i < 3 * SEEDS; i++) {
        /* In an order that is not that of the groups. */
        char *path = write_run(2 - i % 3, (int64_t)(SEEDS - i / 3));
        char *wrong = outcome_read(path, &outcomes[i]);
        ck_assert_msg(!wrong, "%s", wrong);
        free(path);
    }
    Comparison c;
    ck_assert_ptr_null(comparison_make(&c, 3 * SEEDS, outcomes, NULL));
    ck_assert_uint_eq(c.block_count, 1);
    ck_assert_uint_eq(c.group_count, 3);
    ck_assert_uint_eq(c.key_count, 2);
    ck_assert_str_eq(c.keys[1], "model.encoding");
    ck_assert_uint_eq(c.note_count, 0);
    for (size_t g = 0; g < 3; g++) {
        ck_assert_str_eq(c.groups[g].label, encodings_of_study[g]);
        for (size_t i = 0; i < LENGTHS; i++) {
            const double *golden = &golden_means[(g * LENGTHS + i) * 4];
            GroupStatistics s = at(&c, g, lengths_of_study[i]);
            ck_assert_uint_eq(s.n, SEEDS);
            assert_near(s.mean, golden[0]);
            assert_near(s.deviation, golden[1]);
            const Interval interval = interval_at(&c, g, lengths_of_study[i]);
            assert_near(interval.low, golden[2]);
            assert_near(interval.high, golden[3]);
        }
        assert_near(at(&c, g, 20).evaluation, golden_noise[g]);
    }
    const Quantity at20 = {QUANTITY_METRIC, METRIC_SEQUENCE_ACCURACY, 20},
                   area = {QUANTITY_AREA, METRIC_SEQUENCE_ACCURACY, 0};
    assert_differences(&c, at20, golden_differences_20);
    assert_differences(&c, area, golden_differences_area);
    comparison_free(&c);
    remove_folder();
}
END_TEST

START_TEST(no_results) {
    make_folder();
    Outcome outcome;
    char *path = format_text("%s/no.h5", folder), *wrong = outcome_read(path, &outcome);
    ck_assert_str_eq(wrong, "No such file or directory");
    free(wrong);
    ck_assert_int_eq(store_publish_bytes("text", 4, path), 0);
    wrong = outcome_read(path, &outcome);
    ck_assert_str_eq(wrong, "is not an HDF5 file");
    free(wrong);
    Checkpoint checkpoint = small_checkpoint();
    ck_assert_int_eq(checkpoint_write(&checkpoint, path), 0);
    small_checkpoint_free(&checkpoint);
    wrong = outcome_read(path, &outcome);
    ck_assert_str_eq(wrong, "is a posenc-checkpoint file and not a result");
    free(wrong);
    ResultFile result = small_result();
    result.resolved_json = "{\"name\":";
    ck_assert_int_eq(result_write(&result, path), 0);
    wrong = outcome_read(path, &outcome);
    ck_assert_ptr_nonnull(strstr(wrong, "/config/resolved_json: no JSON at byte"));
    free(wrong);
    free(path);
    remove_folder();
}
END_TEST

/* ---- groups ---------------------------------------------------------------------------- */

START_TEST(fewest_keys) {
    /* An option that only one kind has is no key; what follows from the encoding is said. */
    const Outcome runs[] = {
        run_of("copy", "model.encoding=rope model.encoding.base=10000 train.steps=5", 1, 1, 1, 1),
        run_of("copy", "model.encoding=rope model.encoding.base=10000 train.steps=5", 2, 1, 1, 1),
        run_of("copy", "model.encoding=nope train.steps=9", 1, 1, 1, 1),
        run_of("copy", "model.encoding=nope train.steps=9", 2, 1, 1, 1)};
    Comparison c = COMPARE(runs);
    ck_assert_uint_eq(c.group_count, 2);
    ck_assert_str_eq(c.groups[0].label, "nope");
    ck_assert_str_eq(c.groups[1].label, "rope");
    ck_assert_uint_eq(c.note_count, 1);
    assert_note(&c, "copy: the groups differ in more than their names, train.steps: 9 (nope), "
                    "5 (rope)");
    comparison_free(&c);
}
END_TEST

START_TEST(options_of_a_kind) {
    const Outcome runs[] = {
        run_of("copy", "model.encoding=rope model.encoding.fraction=1", 1, 1, 1, 1),
        run_of("copy", "model.encoding=rope model.encoding.fraction=0.25", 1, 1, 1, 1),
        run_of("copy", "model.encoding=nope", 1, 1, 1, 1),
        run_of("reverse", "model.encoding=nope", 1, 1, 1, 1)};
    Comparison c = COMPARE(runs);
    ck_assert_uint_eq(c.group_count, 4);
    ck_assert_uint_eq(c.block_count, 2);
    ck_assert_str_eq(c.groups[1].label, "rope fraction=0.25");
    ck_assert_str_eq(c.groups[2].label, "rope fraction=1");
    ck_assert_uint_eq(c.blocks[0].count, 3);
    ck_assert_str_eq(c.blocks[1].task, "reverse");
    comparison_free(&c);
}
END_TEST

/* Groups have the names that a study gives to their runs; keys tell apart those of one name. */
START_TEST(labels_of_a_study) {
    static const char *const keys[] = {"model.encoding=nope train.steps=5",
                                       "model.encoding=rope train.steps=5",
                                       "model.encoding=rope train.steps=9",
                                       "model.encoding=rope train.steps=5"};
    static const char *const tasks[] = {"copy", "copy", "copy", "reverse"};
    static const char *const labels[] = {NULL, "far, far", "far, far", "far, far"};
    static const char *const expected[2][4] = {
        {"nope steps=5", "far, far steps=5", "far, far steps=9", "far, far"},
        {"nope steps=5", "rope steps=5", "rope steps=9", "rope steps=5"}};
    static const char *const by[] = {NULL, "model.encoding,train.steps"};
    for (size_t way = 0; way < 2; way++) {
        Outcome *runs = ALLOCATE(8, Outcome);
        for (size_t i = 0; i < 8; i++) {
            runs[i] = run_of(tasks[i / 2], keys[i / 2], (int64_t)(i % 2), 1, 1, 1);
            runs[i].label = labels[i / 2] ? copy_text(labels[i / 2]) : NULL;
        }
        Comparison c;
        ck_assert_ptr_null(comparison_make(&c, 8, runs, by[way]));
        ck_assert_uint_eq(c.group_count, 4);
        for (size_t g = 0; g < 4; g++) ck_assert_str_eq(c.groups[g].label, expected[way][g]);
        comparison_free(&c);
    }
    Outcome runs[] = {run_of("copy", "model.encoding=rope", 1, 1, 1, 1),
                      run_of("copy", "model.encoding=rope", 2, 1, 1, 1)};
    runs[0].label = copy_text("half");
    Comparison c = COMPARE(runs);
    ck_assert_str_eq(c.groups[0].label, "rope"); /* the name of one run is none of the group */
    comparison_free(&c);
}
END_TEST

/* A kind's options are looked at among runs of this kind, also where another has the same value. */
START_TEST(options_of_two_kinds) {
    const Outcome runs[] = {
        run_of("copy", "model.encoding=rope model.encoding.base=500", 1, 1, 1, 1),
        run_of("copy", "model.encoding=xpos model.encoding.base=500", 1, 1, 1, 1),
        run_of("copy", "model.encoding=nope", 1, 1, 1, 1),
        run_of("copy", "model.encoding=xpos model.encoding.base=800", 1, 1, 1, 1)};
    Comparison c = COMPARE(runs);
    ck_assert_uint_eq(c.group_count, 4);
    ck_assert_str_eq(c.keys[2], "model.encoding.base");
    comparison_free(&c);
}
END_TEST

START_TEST(what_is_said) {
    Outcome runs[] = {run_of("copy", "model.encoding=rope", 1, 1, 0.5, 0),
                      run_of("copy", "model.encoding=rope", 2, 1, 0.5, 0),
                      run_of("copy", "model.encoding=rope", 2, 1, 0.5, 0), /* the same run */
                      run_of("copy", "model.encoding=rope", 3, 1, 0.5, 0),
                      run_of("copy", "model.encoding=nope", 1, 1, 0.5, 0),
                      run_of("copy", "model.encoding=nope", 2, 1, 0.5, 0)};
    runs[4].completed = false;
    free(runs[4].exit_reason);
    runs[4].exit_reason = copy_text("stopped");
    Comparison c = COMPARE(runs);
    ck_assert_uint_eq(c.group_count, 2);
    assert_note(&c, "left out, not complete (stopped): copy model.encoding=nope s1");
    assert_note(&c, "the same run twice, counted once: copy model.encoding=rope s2 and "
                    "copy model.encoding=rope s2");
    assert_note(&c, "copy: nope has no result of seed 1 3");
    assert_note(&c, "copy: nope has a single seed, n=1: no interval, no ranking");
    ck_assert_uint_eq(c.note_count, 4);
    GroupStatistics single = at(&c, 0, 32);
    ck_assert_uint_eq(single.n, 1);
    ck_assert(isnan(single.deviation) && isnan(interval_at(&c, 0, 16).low));
    ck_assert_double_eq(single.mean, 0.5);
    Difference *d = comparison_differences(
        &c, &c.blocks[0], (Quantity){QUANTITY_METRIC, METRIC_SEQUENCE_ACCURACY, 32});
    ck_assert_uint_eq(d[0].test.n, 1);
    ck_assert(isnan(d[0].holm) && isnan(d[0].interval.low));
    free(d);
    comparison_free(&c);
}
END_TEST

START_TEST(mixed_builds) {
    Outcome runs[] = {run_of("copy", "model.encoding=rope", 1, 1, 0.5, 0),
                      run_of("copy", "model.encoding=rope", 2, 1, 0.5, 0),
                      run_of("copy", "model.encoding=rope", 3, 1, 0.5, 0)};
    runs[0].binary_sha256[0] = '6';
    runs[2].moves = 2;
    Comparison c = COMPARE(runs);
    assert_note(&c, "the results are of 2 builds on 1 kind of CPU, which agree in rounding only");
    assert_note(&c, "went on with another build or on another CPU: copy model.encoding=rope s3");
    ck_assert_uint_eq(c.note_count, 2);
    comparison_free(&c);
}
END_TEST

START_TEST(mixed_configs) {
    Outcome *runs = ALLOCATE(5, Outcome);
    runs[0] = run_of("copy", "model.encoding=rope train.learning_rate=0.001", 1, 1, 0.5, 0);
    runs[1] = run_of("copy", "model.encoding=rope train.learning_rate=0.003", 1, 1, 0.75, 0);
    runs[2] = run_of("copy", "model.encoding=rope train.learning_rate=0.001", 2, 1, 0.25, 0);
    runs[3] = run_of("copy", "model.encoding=nope train.learning_rate=0.001", 1, 1, 1, 1);
    runs[4] = run_of("copy", "model.encoding=nope train.learning_rate=0.001", 2, 1, 1, 1);
    Comparison c;
    ck_assert_ptr_null(comparison_make(&c, 5, runs, "model.encoding"));
    ck_assert_uint_eq(c.group_count, 2);
    assert_note(&c, "copy: the group rope mixes different configs, train.learning_rate: 0.001, "
                    "0.003");
    assert_note(&c, "copy: rope has several runs of seed 1; a seed counts once, with their mean");
    GroupStatistics rope = at(&c, 1, 32);
    ck_assert_uint_eq(rope.n, 2);
    ck_assert_double_eq(rope.mean, (0.625 + 0.25) / 2);
    comparison_free(&c);

    runs = ALLOCATE(2, Outcome);
    runs[0] = run_of("copy", "model.encoding=rope", 1, 1, 0.5, 0);
    runs[1] = run_of("copy", "model.encoding=nope", 1, 1, 0.5, 0);
    char *wrong = comparison_make(&c, 2, runs, "model.encodin");
    ck_assert_str_eq(wrong, "--by: none of the results has the key \"model.encodin\"; they differ "
                            "in model.encoding");
    free(wrong);
    comparison_free(&c);
}
END_TEST

START_TEST(one_number_of_a_run) {
    const Outcome runs[] = {run_of("copy", "model.encoding=rope", 1, 0.95, 0.9, 0.5),
                            run_of("copy", "model.encoding=rope", 2, 0.97, 0.89, 0.91),
                            run_of("copy", "model.encoding=nope", 1, 0.5, 1, 1),
                            run_of("copy", "model.encoding=learned", 1, 1, NONE, NONE)};
    Comparison c = COMPARE(runs);
    const Quantity longest = {QUANTITY_LONGEST, METRIC_TOKEN_ACCURACY, 0},
                   area = {QUANTITY_AREA, METRIC_TOKEN_ACCURACY, 0},
                   trained = {QUANTITY_TRAINED, METRIC_TOKEN_ACCURACY, 0};
    GroupStatistics nope = comparison_statistics(&c, &c.groups[0], longest),
                    learned = comparison_statistics(&c, &c.groups[1], longest),
                    rope = comparison_statistics(&c, &c.groups[2], longest);
    ck_assert_double_eq(nope.middle, 0); /* it was not good at the first length */
    ck_assert_double_eq(learned.middle, 16);
    ck_assert(rope.least == 16 && rope.largest == 32 && rope.middle == 16);
    /* Two doublings: a trapezoid each. */
    assert_near(comparison_statistics(&c, &c.groups[2], area).largest,
                ((0.97 + 0.89) / 2 + (0.89 + 0.91) / 2) / 2);
    ck_assert_uint_eq(comparison_statistics(&c, &c.groups[1], area).n, 0);
    assert_near(comparison_statistics(&c, &c.groups[2], trained).mean, 0.96);
    ck_assert_str_eq(comparison_undefined(&c, &c.groups[1], 32), "no table");
    ck_assert_ptr_null(comparison_undefined(&c, &c.groups[2], 32));
    comparison_free(&c);
}
END_TEST

/* Where no evaluated length is within training, or none beyond, there is no way from one to the
   other. */
START_TEST(area_from_training_on) {
    for (int64_t trained = 8; trained <= 64; trained *= 2) {
        Outcome runs[] = {run_of("copy", "model.encoding=rope", 1, 0.9, 0.5, 0.1)};
        runs[0].trained_length = trained;
        Comparison c = COMPARE(runs);
        const GroupStatistics area = comparison_statistics(
            &c, &c.groups[0], (Quantity){QUANTITY_AREA, METRIC_TOKEN_ACCURACY, 0});
        ck_assert_uint_eq(area.n, trained == 16 || trained == 32);
        if (trained == 16) assert_near(area.mean, ((0.9 + 0.5) / 2 + (0.5 + 0.1) / 2) / 2);
        if (trained == 32) assert_near(area.mean, (0.5 + 0.1) / 2);
        comparison_free(&c);
    }
}
END_TEST

/* ---- claims ---------------------------------------------------------------------------- */

enum { RUNS = 5 * SEEDS };

/* Five encodings, five seeds; accuracy at 16, 32, 64. fire is not trained in two seeds, alibi is
   trained in all but one, learned is not defined at 64. */
static Comparison study_of_claims(void) {
    static const struct {
        const char *encoding;
        double at16[SEEDS], at32[SEEDS], at64[SEEDS];
    } rows[] = {
        {"nope", {1, 1, 1, 1, 1}, {0.9, 0.92, 0.91, 0.95, 0.93}, {0.5, 0.3, 0.45, 0.6, 0.4}},
        {"rope", {1, 1, 1, 1, 1}, {0.1, 0.15, 0.12, 0.2, 0.11}, {0.45, 0.4, 0.4, 0.55, 0.5}},
        {"fire", {0.9, 0.5, 1, 1, 1}, {0.5, 0.1, 1, 1, 1}, {0, 0, 0, 0, 0}},
        {"alibi", {0.5, 1, 1, 1, 1}, {0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}},
        {"learned", {1, 1, 1, 1, 1}, {0, 0, 0, 0, 0}, {NONE, NONE, NONE, NONE, NONE}}};
    Outcome runs[RUNS];
    for (size_t i = 0; i < RUNS; i++) {
        const size_t e = i / SEEDS, s = i % SEEDS;
        char *keys = format_text("model.encoding=%s", rows[e].encoding);
        runs[i] =
            run_of("copy", keys, (int64_t)s + 1, rows[e].at16[s], rows[e].at32[s], rows[e].at64[s]);
        free(keys);
    }
    return compare(RUNS, runs);
}

static ClaimSide side_of(const char *encoding) {
    ClaimSide side = {.count = 2, .keys = {{"task", "copy"}, {"model.encoding", ""}}};
    strcpy(side.keys[1].value, encoding);
    return side;
}

static Claim claim_of(const char *left, char relation, const char *right, double value,
                      double length) {
    Claim claim = {.left = side_of(left),
                   .against_value = !right,
                   .value = value,
                   .less = relation == '<',
                   .length = length,
                   .trained = CLAIM_TRAINED};
    snprintf(claim.name, sizeof claim.name, "%s %c %s", left, relation, right ? right : "value");
    if (right) claim.right = side_of(right);
    return claim;
}

START_TEST(every_verdict) {
    Comparison c = study_of_claims();
    const Claim claims[] = {
        claim_of("nope", '>', "rope", 0, 2),    /* 0.922 against 0.136 */
        claim_of("rope", '>', "nope", 0, 2),    /* the same, the other way round */
        claim_of("nope", '>', "rope", 0, 4),    /* 0.45 against 0.46 */
        claim_of("nope", '>', "fire", 0, 2),    /* three of five seeds are trained */
        claim_of("rope", '<', NULL, 0.3, 2),    /* below a value */
        claim_of("alibi", '<', NULL, 0.1, 2),   /* four of five are enough */
        claim_of("learned", '<', NULL, 0.1, 4), /* not defined */
        claim_of("nope", '>', "t5", 0, 2),      /* no results */
        claim_of("nope", '>', "rope", 0, 3)};   /* not evaluated */
    enum { COUNT = sizeof claims / sizeof *claims };
    static const struct {
        VerdictKind kind;
        const char *reason;
    } expected[COUNT] = {{VERDICT_REPRODUCED, ""},
                         {VERDICT_NOT_REPRODUCED, ""},
                         {VERDICT_UNDECIDED, ""},
                         {VERDICT_NOT_TRAINED, "3 of 5 seeds reach 99 % on the right"},
                         {VERDICT_REPRODUCED, ""},
                         {VERDICT_REPRODUCED, ""},
                         {VERDICT_UNDECIDED, "not defined: no table"},
                         {VERDICT_UNDECIDED, "the right side has no results"},
                         {VERDICT_UNDECIDED, "3 x 16 was not evaluated"}};
    Verdict *verdicts = verdicts_make(&c, COUNT, claims);
    for (size_t i = 0; i < COUNT; i++) {
        ck_assert_msg(verdicts[i].kind == expected[i].kind, "claim %zu: %s", i,
                      verdict_words[verdicts[i].kind]);
        ck_assert_str_eq(verdicts[i].reason, expected[i].reason);
    }
    ck_assert_int_eq(verdicts[0].length, 32);
    assert_near(verdicts[0].left.mean, 0.922);
    assert_near(verdicts[0].right.mean, 0.136);
    assert_near(verdicts[0].left.in_distribution, 1);
    assert_near(verdicts[3].right.in_distribution, 0.88);
    ck_assert_uint_eq(verdicts[3].right.trained, 3);
    ck_assert_uint_eq(verdicts[5].left.trained, 4);
    ck_assert(isnan(verdicts[3].holm) && isnan(verdicts[6].holm));

    /* a = np.array([.9, .92, .91, .95, .93]); b = np.array([.1, .15, .12, .2, .11])
       scipy.stats.ttest_rel(a, b).pvalue; two of five tests have it. Of alibi all seeds are the
       same, so that its p is 0 and comes first: Holm's factor of both is 4. */
    assert_near(verdicts[0].test.p / 3.3456681314369214e-07, 1);
    assert_near(verdicts[0].holm / (4 * 3.3456681314369214e-07), 1);
    assert_near(verdicts[1].holm / (4 * 3.3456681314369214e-07), 1);
    ck_assert_double_eq(verdicts[5].holm, 0);
    for (size_t i = 0; i < COUNT; i++)
        if (!isnan(verdicts[i].holm))
            ck_assert((verdicts[i].interval.low <= 0 && verdicts[i].interval.high >= 0) ==
                      (verdicts[i].holm > 0.05));
    verdicts_free(COUNT, verdicts);
    comparison_free(&c);
}
END_TEST

/* What is decided alone need not be among many. */
START_TEST(holm_over_the_claims) {
    enum { SOME = 12 };
    Outcome runs[2 * SOME];
    static const double gap[3] = {0.1, 0.2, 0.06};
    for (size_t i = 0; i < 3; i++) {
        runs[2 * i] = run_of("copy", "model.encoding=nope", (int64_t)i, 1, 0.5 + gap[i], 0);
        runs[2 * i + 1] = run_of("copy", "model.encoding=rope", (int64_t)i, 1, 0.5, 0);
    }
    Comparison c = compare(6, runs);
    Claim claims[SOME];
    for (size_t i = 0; i < SOME; i++) claims[i] = claim_of("nope", '>', "rope", 0, 2);
    /* scipy.stats.ttest_1samp([.1, .2, .06], 0).pvalue is 0.102. */
    Verdict *verdicts = verdicts_make(&c, 1, claims);
    ck_assert_int_eq(verdicts[0].kind, VERDICT_UNDECIDED);
    verdicts_free(1, verdicts);
    comparison_free(&c);

    /* 0.0072 of [.1, .12, .09]: significant alone, and not as one of twelve. */
    static const double less[3] = {0.1, 0.12, 0.09};
    for (size_t i = 0; i < 3; i++) {
        runs[2 * i] = run_of("copy", "model.encoding=nope", (int64_t)i, 1, 0.5 + less[i], 0);
        runs[2 * i + 1] = run_of("copy", "model.encoding=rope", (int64_t)i, 1, 0.5, 0);
    }
    c = compare(6, runs);
    verdicts = verdicts_make(&c, 1, claims);
    ck_assert_int_eq(verdicts[0].kind, VERDICT_REPRODUCED);
    verdicts_free(1, verdicts);
    verdicts = verdicts_make(&c, SOME, claims);
    ck_assert_int_eq(verdicts[0].kind, VERDICT_UNDECIDED);
    assert_near(verdicts[0].holm, SOME * 0.007205446408459768);
    ck_assert(verdicts[0].interval.low < 0);
    verdicts_free(SOME, verdicts);
    comparison_free(&c);
}
END_TEST

START_TEST(claims_that_fit_no_group) {
    const Outcome runs[] = {
        run_of("copy", "model.encoding=rope model.encoding.fraction=1", 1, 1, 0.5, 0),
        run_of("copy", "model.encoding=rope model.encoding.fraction=0.25", 1, 1, 0.5, 0),
        run_of("copy", "model.encoding=nope", 1, 1, 1, 1)};
    Comparison c = COMPARE(runs);
    Claim claims[] = {claim_of("nope", '>', "rope", 0, 2), claim_of("nope", '>', "rope", 0, 2)};
    claims[1].right.keys[claims[1].right.count++] = (ClaimKey){"model.encoding.fraction", "0.250"};
    Verdict *verdicts = verdicts_make(&c, 2, claims);
    ck_assert_int_eq(verdicts[0].kind, VERDICT_UNDECIDED);
    ck_assert_str_eq(verdicts[0].reason, "the right side is several groups: copy: rope "
                                         "fraction=0.25, copy: rope fraction=1");
    ck_assert_int_eq(verdicts[1].kind, VERDICT_UNDECIDED);
    ck_assert_str_eq(verdicts[1].reason, "n=1");
    assert_near(verdicts[1].test.mean, 0.5);
    verdicts_free(2, verdicts);
    comparison_free(&c);
}
END_TEST

/* ---- reports and summaries ------------------------------------------------------------- */

static char *read_text(const char *name) {
    char *path = format_text("%s/%s", folder, name), *text = ALLOCATE(1 << 16, char);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, (1 << 16) - 1, file)] = 0;
    fclose(file);
    free(path);
    return text;
}

static void assert_has(const char *text, const char *part) {
    ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in:\n%s", part, text);
}

START_TEST(report_of_a_study) {
    make_folder();
    char *paths[3 * SEEDS + 1];
    const char *labels[3 * SEEDS + 1] = {NULL};
    for (size_t i = 0; i < 3 * SEEDS; i++) {
        paths[i] = write_run(i / SEEDS, (int64_t)(i % SEEDS) + 1);
        labels[i] = i / SEEDS == 2 ? "slopes" : NULL;
    }
    paths[3 * SEEDS] = format_text("%s/lost/run.h5", folder);
    Claim claims[] = {claim_of("nope", '>', "rope", 0, 1.25), claim_of("rope", '<', NULL, 0.4, 2)};
    const StudyReport report = {
        "s", folder, 3 * SEEDS + 1, (const char *const *)paths, labels, 2, claims};
    char *text;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    const Terminal terminal = {.fd = -1};
    ck_assert_int_eq(study_report(&report, to, &terminal), EXIT_DONE);
    fclose(to);
    /* In the vectors nope has 0.843 at 20 tokens, rope 0.599; 0.307 at 32. */
    assert_has(text, "copy: sequences right");
    assert_has(text, "nope    5  99.50   84.30   45.10   22.40 ");
    assert_has(text, "nope > rope       20      99.50 / 99.50  84.30 > 59.90  ");
    assert_has(text, "\nslopes  5  ");
    assert_has(text, "\nrope - slopes  5  ");
    assert_has(text, "2 reproduced, 0 not reproduced, 0 undecided, 0 not trained");
    assert_has(text, "lost/run.h5: no result");
    free(text);

    text = read_text("summary.csv");
    assert_has(text, "task,model.encoding,group,seed,init_seed,data_seed,run_id,trained_length,"
                     "length,within_training,defined,examples,sequence_accuracy,");
    assert_has(text, "\ncopy,rope,rope,2,2,2,rope-s2,16,20,false,true,200,0.535,");
    assert_has(text, "\ncopy,alibi,slopes,2,2,2,alibi-s2,16,20,false,true,200,");
    free(text);
    text = read_text("summary_groups.csv");
    assert_has(text, "\ncopy,nope,nope,sequence_accuracy,at_length,20,5,0.843,0.0376");
    free(text);
    text = read_text("summary_claims.csv");
    assert_has(text, "\nnope > rope,reproduced,,task=copy; model.encoding=nope,task=copy; "
                     "model.encoding=rope,sequence_accuracy,>,,1.25,0.99,20,");
    free(text);
    text = read_text("summary_differences.csv");
    assert_has(text, "\ncopy,nope,rope,sequence_accuracy,at_length,20,5,0.244,");
    free(text);

    char *summary_path = format_text("%s/summary.h5", folder);
    const char *reason = store_verify(summary_path);
    ck_assert_msg(!reason, "%s", reason);
    SummaryClaims found;
    char *wrong = summary_read(summary_path, &found);
    ck_assert_msg(!wrong, "%s", wrong);
    ck_assert_uint_eq(found.claim_count, 2);
    ck_assert_uint_eq(found.run_count, 3 * SEEDS * LENGTHS);
    ck_assert_str_eq(found.runs[3 * SEEDS * LENGTHS - 1], "alibi-s5");
    ck_assert_str_eq(found.groups[3 * SEEDS * LENGTHS - 1], "slopes");
    ck_assert_int_eq(memcmp(&found.claims[0].left, &claims[0].left, sizeof(ClaimSide)), 0);
    ck_assert_int_eq(memcmp(&found.claims[0].right, &claims[0].right, sizeof(ClaimSide)), 0);
    ck_assert(!found.claims[0].less && !found.claims[0].against_value);
    ck_assert(found.claims[0].length == 1.25 && found.claims[0].trained == CLAIM_TRAINED);
    ck_assert_int_eq(found.claims[0].metric, METRIC_SEQUENCE_ACCURACY);
    ck_assert_str_eq(found.claims[1].name, "rope < value");
    ck_assert(found.claims[1].less && found.claims[1].against_value);
    ck_assert_double_eq(found.claims[1].value, 0.4);
    summary_free(&found);
    free(summary_path);
    for (size_t i = 0; i <= 3 * SEEDS; i++) free(paths[i]);
    remove_folder();
}
END_TEST

START_TEST(fields_of_csv) {
    Sheet *sheet = sheet_create();
    static const char *const texts[] = {"plain", "a, b", "\"so\"", NULL};
    static const double numbers[] = {0.1, NONE, -HUGE_VAL, 1e-7};
    for (size_t i = 0; i < 40; i++) {
        sheet_text(sheet, "text", texts[i % 4]);
        sheet_number(sheet, "number", numbers[i % 4]);
        sheet_integer(sheet, "whole", (int64_t)i);
        sheet_boolean(sheet, "yes", i % 2);
        sheet_end_row(sheet);
    }
    char *csv = sheet_csv(sheet);
    ck_assert_int_eq(strncmp(csv,
                             "text,number,whole,yes\nplain,0.1,0,false\n\"a, b\",,1,true\n"
                             "\"\"\"so\"\"\",-inf,2,false\n,1e-7,3,true\nplain,",
                             strlen("text,number,whole,yes\nplain,0.1,0,false\n\"a, b\",,1,true\n"
                                    "\"\"\"so\"\"\",-inf,2,false\n,1e-7,3,true\nplain,")),
                     0);
    assert_has(csv, "\n,1e-7,39,true\n");
    free(csv);
    sheet_free(sheet);
}
END_TEST

Suite *suite_compare(void);
Suite *suite_compare(void) {
    Suite *suite = suite_create("compare");
    TCase *files = tcase_create("files");
    tcase_add_test(files, config_as_keys);
    tcase_add_test(files, stages_as_keys);
    tcase_add_test(files, files_against_scipy);
    tcase_add_test(files, no_results);
    tcase_add_test(files, fields_of_csv);
    tcase_add_test(files, report_of_a_study);
    suite_add_tcase(suite, files);

    TCase *groups = tcase_create("groups");
    tcase_add_test(groups, fewest_keys);
    tcase_add_test(groups, options_of_a_kind);
    tcase_add_test(groups, labels_of_a_study);
    tcase_add_test(groups, options_of_two_kinds);
    tcase_add_test(groups, what_is_said);
    tcase_add_test(groups, mixed_builds);
    tcase_add_test(groups, mixed_configs);
    tcase_add_test(groups, one_number_of_a_run);
    tcase_add_test(groups, area_from_training_on);
    suite_add_tcase(suite, groups);

    TCase *claims = tcase_create("claims");
    tcase_add_test(claims, every_verdict);
    tcase_add_test(claims, holm_over_the_claims);
    tcase_add_test(claims, claims_that_fit_no_group);
    suite_add_tcase(suite, claims);
    return suite;
}
