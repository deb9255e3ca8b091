/* A run in pieces: what is stopped and goes on ends with the same bits as what was not. The whole
   program, with its signals and exit codes, is in tests/test_run.sh. */
#include "src/lua/config.h"
#include "src/record.h"
#include "src/train.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static Config load(const char *path, int count, const char *const *overrides) {
    Config config;
    Mistakes mistakes;
    if (!config_load(path, count, overrides, &config, &mistakes)) ck_abort_msg("%s", mistakes.text);
    return config;
}

/* What run.c does after a step, less files and messages. */
static void step(Trainer *t, Record *r) {
    const Config *config = t->config;
    ck_assert_ptr_null(train_step(t));
    if (t->step % config->train.log_every == 0) {
        record_train(r, &(EventStep){.step = t->step,
                                     .loss = t->window.loss / t->window.scored,
                                     .accuracy = t->window.right / t->window.scored,
                                     .learning_rate = t->learning_rate,
                                     .gradient_norm = t->gradient_norm,
                                     .tokens = t->tokens});
        t->window = (TrainWindow){0};
    }
    if (t->step % config->train.snapshot_every == 0) record_snapshot(r, t->model, t->step);
    if (t->step % config->evaluate.every == 0) {
        Evaluation cells[OPTION_LIST_SIZE];
        for (size_t l = 0; l < r->lengths; l++)
            evaluate(config, t->model, t->engine, (size_t)config->evaluate.lengths.values[l],
                     &cells[l]);
        record_evaluation(r, t->step, cells);
    }
}

static void ck_same(const char *what, const void *a, const void *b, size_t bytes) {
    ck_assert_msg(!memcmp(a, b, bytes), "%s differs", what);
}

/* NaN compares equal to NaN here: cells that are not defined. */
static void ck_same_state(const Trainer *a, const Trainer *b, const Record *ra, const Record *rb) {
    const size_t bytes = a->model->count * sizeof(real);
    ck_assert_int_eq(a->step, b->step);
    ck_assert_int_eq(a->tokens, b->tokens);
    ck_same("values", a->model->values, b->model->values, bytes);
    ck_same("moment1", a->moment1, b->moment1, bytes);
    ck_same("moment2", a->moment2, b->moment2, bytes);
    ck_assert_uint_eq(ra->train_rows, rb->train_rows);
    ck_same("loss", ra->loss, rb->loss, ra->train_rows * sizeof(double));
    ck_same("accuracy", ra->accuracy, rb->accuracy, ra->train_rows * sizeof(double));
    ck_same("norm", ra->gradient_norm, rb->gradient_norm, ra->train_rows * sizeof(double));
    ck_assert_uint_eq(ra->evaluate_rows, rb->evaluate_rows);
    const size_t cells = ra->evaluate_rows * ra->lengths * sizeof(double);
    ck_same("evaluation", ra->evaluate_loss, rb->evaluate_loss, cells);
    ck_same("accuracy of tokens", ra->token_accuracy, rb->token_accuracy, cells);
    ck_assert_uint_eq(ra->snapshot_rows, rb->snapshot_rows);
    const PositionTable *table = &ra->tables[0].table;
    ck_same("snapshots", ra->tables[0].snapshots, rb->tables[0].snapshots,
            ra->snapshot_rows * table->dims[0] * table->dims[1] * sizeof(double));
    for (int i = 0; i < a->model->parameter_count; i++)
        if (a->update_count[i])
            ck_same("update counts", a->update_count[i], b->update_count[i],
                    a->model->parameters[i].dims[0] * sizeof(int64_t));
}

/* Cuts after each step in turn, through a file. */
START_TEST(resume_is_bitwise) {
    store_start();
    Config config = load("tests/resume.lua", 0, NULL);
    char path[] = "/tmp/harness-test-XXXXXX.h5";
    ck_assert_int_ge(mkstemps(path, 3), 0);
    Trainer *whole = train_create(&config);
    Record *whole_record = record_create(&config, whole->model);
    while (whole->step < config.train.total_steps) step(whole, whole_record);
    ck_assert_int_eq(whole->step, 20);
    ck_assert_uint_eq(whole_record->evaluate_rows, 3);

    Trainer *part = train_create(&config);
    Record *part_record = record_create(&config, part->model);
    while (part->step < config.train.total_steps) {
        step(part, part_record);
        RecordState state;
        record_state(&state, part_record, part, false);
        memcpy(state.checkpoint.config_sha256, config.sha256, 65);
        ck_assert_int_eq(checkpoint_write(&state.checkpoint, path), 0);
        record_state_free(&state);
        train_free(part);
        record_free(part_record);

        part = train_create(&config);
        part_record = record_create(&config, part->model);
        record_state(&state, part_record, part, true);
        memcpy(state.checkpoint.config_sha256, config.sha256, 65);
        const char *reason = checkpoint_read(path, &state.checkpoint);
        ck_assert_msg(!reason, "%s", reason);
        record_restore(&state, part_record, part);
        record_state_free(&state);
    }
    ck_same_state(whole, part, whole_record, part_record);
    unlink(path);
    train_free(whole);
    train_free(part);
    record_free(whole_record);
    record_free(part_record);
    config_free(&config);
}
END_TEST

/* The rows that training at lengths up to 24 can reach are counted, no others exist. */
START_TEST(learned_rows_are_counted) {
    Config config = load("tests/resume.lua", 1, (const char *[]){"model.encoding.positions=40"});
    Trainer *t = train_create(&config);
    while (t->step < config.train.total_steps) ck_assert_ptr_null(train_step(t));
    for (int i = 0; i < t->model->parameter_count; i++) {
        if (!t->update_count[i]) continue;
        ck_assert_uint_eq(t->model->parameters[i].dims[0], 40);
        ck_assert_int_eq(t->update_count[i][0], 20);
        ck_assert_int_eq(t->update_count[i][7], 20);
        ck_assert_int_ge(t->update_count[i][23], 1);
        ck_assert_int_lt(t->update_count[i][23], 20);
        for (int row = 24; row < 40; row++) ck_assert_int_eq(t->update_count[i][row], 0);
    }
    train_free(t);
    config_free(&config);
}
END_TEST

/* A weight that is not finite is named, with the step. */
START_TEST(not_finite_is_named) {
    Config config = load("tests/resume.lua", 0, NULL);
    Trainer *t = train_create(&config);
    ck_assert_ptr_null(train_step(t));
    for (int i = 0; i < t->model->parameter_count; i++)
        if (!strcmp(t->model->parameters[i].name, "layer1/mlp/up/weight"))
            t->model->values[t->model->parameters[i].offset + 5] = (real)INFINITY;
    const char *reason = train_step(t);
    ck_assert_ptr_nonnull(reason);
    ck_assert_msg(strstr(reason, "step 2: ") && strstr(reason, "layer1/mlp/up/weight[5] is inf"),
                  "%s", reason);
    train_free(t);
    config_free(&config);
}
END_TEST

/* Evaluation is a function of config and weights: parts, order and threads do not matter. */
START_TEST(evaluation_counts) {
    Config config = load("tests/resume.lua", 0, NULL);
    Trainer *t = train_create(&config);
    Evaluation a, b, undefined;
    evaluate(&config, t->model, t->engine, 24, &a);
    ck_assert_ptr_null(train_step(t)); /* another shape between */
    Trainer *fresh = train_create(&config);
    evaluate(&config, fresh->model, fresh->engine, 24, &b);
    ck_assert(a.loss == b.loss && a.token_accuracy == b.token_accuracy);
    ck_assert_int_eq(a.examples, 5);
    int64_t by_position = 0, by_distance = 0;
    for (size_t i = 0; i < a.position_bins; i++) by_position += a.by_position[i].count;
    for (size_t i = 0; i < a.distance_bins; i++) by_distance += a.by_distance[i].count;
    ck_assert_int_eq(by_position, by_distance);
    ck_assert_int_eq(by_position, 5 * 12); /* half of a copy is scored */
    evaluate(&config, t->model, t->engine, 48, &undefined);
    ck_assert_msg(strstr(undefined.undefined, "learned has 24 positions, length 48 needs 48"), "%s",
                  undefined.undefined);
    ck_assert(isnan(undefined.loss));
    train_free(t);
    train_free(fresh);
    config_free(&config);
}
END_TEST

Suite *suite_run(void);
Suite *suite_run(void) {
    Suite *suite = suite_create("run");
    TCase *tests = tcase_create("run");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, resume_is_bitwise);
    tcase_add_test(tests, learned_rows_are_counted);
    tcase_add_test(tests, not_finite_is_named);
    tcase_add_test(tests, evaluation_counts);
    suite_add_tcase(suite, tests);
    return suite;
}
