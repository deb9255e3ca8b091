/* A run in pieces: what is stopped and goes on ends with the same bits as what was not. The whole
   program, with its signals and exit codes, is in tests/test_run.sh. */
#include "src/lua/config.h"
#include "src/record.h"
#include "src/sha256.h"
#include "src/start.h"
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

static const real *value_of(const Trainer *t, const char *name, const Parameter **parameter) {
    for (int i = 0; i < t->model->parameter_count; i++)
        if (!strcmp(t->model->parameters[i].name, name)) {
            *parameter = &t->model->parameters[i];
            return t->model->values + t->model->parameters[i].offset;
        }
    ck_abort_msg("no parameter %s", name);
}

/* Another run starts from the weights of a result: the same bits, moments of 0, and a longer table
   whose new rows are what past_end says. What a run starts from is part of its name; where the file
   lies is not. */
START_TEST(weights_of_another_run) {
    enum { ROWS = 24, LONGER = 40, WIDTH = 16 };
    store_start();
    char path[] = "/tmp/harness-test-XXXXXX.h5", copy[] = "/tmp/harness-test-XXXXXX.h5";
    ck_assert_int_ge(mkstemps(path, 3), 0);
    ck_assert_int_ge(mkstemps(copy, 3), 0);
    Config base = load("tests/resume.lua", 0, NULL);
    const Environment environment = environment_look();
    Trainer *old = train_create(&base);
    Record *record = record_create(&base, old->model);
    while (old->step < 2) step(old, record); /* before the first snapshot */
    for (int files = 0; files < 2; files++)
        ck_assert_int_eq(record_write(record, old, &environment, NULL, true, "done",
                                      files ? copy : path), 0);

    char from[100], from_copy[100];
    snprintf(from, sizeof from, "train.init_from=%s", path);
    snprintf(from_copy, sizeof from_copy, "train.init_from=%s", copy);
    const char *overrides[] = {from, "model.encoding.positions=40",
                               "model.encoding.past_end=clamp"};
    Config config = load("tests/resume.lua", 3, overrides);
    ck_assert_ptr_null(start_refuse(&config));
    Trainer *t = train_create(&config);
    ck_assert_ptr_null(start_read(&config, t->model));
    for (int i = 0; i < old->model->parameter_count; i++) {
        const Parameter *p = &old->model->parameters[i], *q;
        const real *found = value_of(t, p->name, &q);
        ck_same(p->name, found, old->model->values + p->offset, p->count * sizeof(real));
        if (strcmp(p->name, "encoding/learned/table") != 0) continue;
        ck_assert_uint_eq(q->dims[0], LONGER);
        for (size_t row = ROWS; row < LONGER; row++)
            ck_same("a new row", found + row * WIDTH, found + (ROWS - 1) * WIDTH,
                    WIDTH * sizeof(real));
    }
    for (size_t i = 0; i < t->model->count; i++)
        ck_assert(t->moment1[i] == 0 && t->moment2[i] == 0);
    ck_assert_ptr_null(train_step(t));

    /* Read again from its own resolved JSON it is the same run, and needs the file no more. */
    Config again;
    Mistakes mistakes;
    ck_assert(
        config_load_json(config.resolved_json, config.lua, "run.h5", 0, NULL, &again, &mistakes));
    ck_assert_str_eq(again.sha256, config.sha256);
    config_free(&again);
    Config drawn = load("tests/resume.lua", 2, overrides + 1);
    ck_assert_str_ne(drawn.sha256, config.sha256);
    config_free(&drawn);
    overrides[0] = from_copy;
    Config other_place = load("tests/resume.lua", 3, overrides);
    char hash[65];
    ck_assert(sha256_file(copy, hash));
    ck_assert_str_eq(other_place.train.init_sha256, hash);
    ck_assert_int_eq(!strcmp(other_place.sha256, config.sha256),
                     !strcmp(other_place.train.init_sha256, config.train.init_sha256));
    config_free(&other_place);

    static const struct {
        const char *override, *reason;
    } refused[] = {
        {"model.width=32", "its embedding is [9, 16], that of this model [9, 32]"},
        {"model.layers=3", "has no parameter layer2/attention/norm/gain, which this model has"},
        {"model.layers=1", "has a parameter layer1/attention/norm/gain, which this model has not"},
        {"task.alphabet=7", "its embedding is [9, 16], that of this model [10, 16]"},
        {"model.heads=4", "was trained with 2 heads, this model has 4"},
        {"model.encoding.positions=24", NULL},
        {"model.encoding=nope", NULL},
        {"model.encoding=t5", "has no parameter encoding/t5/bias, which this model has"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const char *both[] = {from, refused[i].override};
        Config wrong = load("tests/resume.lua", 2, both);
        const char *reason = start_refuse(&wrong);
        if (!refused[i].reason)
            ck_assert_msg(!reason, "%s: %s", both[1], reason);
        else
            ck_assert_msg(reason && !strcmp(reason, refused[i].reason), "%s: %s", both[1], reason);
        config_free(&wrong);
    }
    unlink(path);
    unlink(copy);
    train_free(t);
    train_free(old);
    record_free(record);
    config_free(&config);
    config_free(&base);
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

/* Looked at length by length. With many threads sequences of at most 512 need the most. */
START_TEST(memory_of_a_range_of_lengths) {
    static const char *const names[] = {"rope", "kerple", "fire", "transformer_xl"};
    for (size_t e = 0; e < sizeof names / sizeof *names; e++) {
        char *encoding = format_text("model.encoding=%s", names[e]);
        Config config = load("tests/tiny.lua", 5,
                             (const char *[]){encoding, "train.length=4..4000",
                                              "train.tokens=4400", "evaluate.lengths=4",
                                              "evaluate.examples=1"});
        const Stage *stage = &config.train.stages[0];
        const ModelShape shape = train_shape(&config);
        Model *model = model_describe(&shape);
        for (int threads = 1; threads <= 64; threads *= 8) {
            double bytes = 0;
            for (size_t length = 4; length <= 4000; length++) {
                const size_t items = config_batch_size(&config, stage, length);
                bytes = fmax(bytes, engine_bytes_needed(model, items, length, true, threads));
            }
            bytes += 4.0 * (double)model->count * sizeof(real);
            ck_assert_msg(train_bytes(&config, threads) == bytes, "%s, %d threads: %.0f for %.0f",
                          names[e], threads, train_bytes(&config, threads), bytes);
        }
        model_free(model);
        config_free(&config);
        free(encoding);
    }
}
END_TEST

Suite *suite_run(void);
Suite *suite_run(void) {
    Suite *suite = suite_create("run");
    TCase *tests = tcase_create("run");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, resume_is_bitwise);
    tcase_add_test(tests, learned_rows_are_counted);
    tcase_add_test(tests, weights_of_another_run);
    tcase_add_test(tests, not_finite_is_named);
    tcase_add_test(tests, evaluation_counts);
    tcase_add_test(tests, memory_of_a_range_of_lengths);
    suite_add_tcase(suite, tests);
    return suite;
}
