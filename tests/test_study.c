/* From a study or a sweep to cells: which there are, in which order, what they hold; what is the
   same in two cells of one seed; which rate is taken. Mistakes: tests/bad_configs/study_*.lua. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/examples.h"
#include "src/train.h"
#include "tests/config_text.h"

#define BASE                                                                                       \
    "local base = { task = 'copy', model = { layers = 1, width = 16, heads = 2 },\n"               \
    "               train = { steps = 10, length = 16 } }\n"

static void ck_cells(const Study *study, int count, const char *const *texts) {
    ck_assert_int_eq(study->cell_count, count);
    for (int c = 0; c < count; c++) ck_assert_str_eq(study->cells[c].text, texts[c]);
}

/* ---- expansion ---------------------------------------------------------------------------- */

START_TEST(test_grid) {
    static const char *const texts[] = {
        "seed=1 model.encoding=nope train.steps=5",      "seed=1 model.encoding=nope train.steps=6",
        "seed=1 model.encoding=rope base=500 train.steps=5",
        "seed=1 model.encoding=rope base=500 train.steps=6",
        "seed=7 model.encoding=nope train.steps=5",      "seed=7 model.encoding=nope train.steps=6",
        "seed=7 model.encoding=rope base=500 train.steps=5",
        "seed=7 model.encoding=rope base=500 train.steps=6"};
    const Study *s = config_text_study(
        BASE "return study { name = 'y', base = base, grid = { ['train.steps'] = { 5, 6 },\n"
             "  ['model.encoding'] = { 'nope', { 'rope', base = 500 } }, seed = { 1, 7 } } }",
        "");
    ck_cells(s, 8, texts);
    ck_assert_str_eq(s->name, "y");
    ck_assert(!s->sweep);
    const Config *config = &s->cells[6].config;
    ck_assert_str_eq(config->name, "y");
    ck_assert_int_eq(config->seed, 7);
    ck_assert_int_eq(config->data_seed, 7);
    ck_assert_int_eq(config->train.total_steps, 5);
    ck_assert_str_eq(config->model.encoding->name, "rope");
    const Option *option = option_find(config->model.encoding->options, "base");
    ck_assert_double_eq(
        *(const double *)((const char *)&config->model.encoding_options + option->offset), 500);
    ck_assert_str_eq(config_text_source(config, "seed"), "7  x.lua:4");
    ck_assert_str_eq(config_text_source(config, "model.encoding.base"), "500  x.lua:4");
    ck_assert_str_eq(config_text_source(config, "train.steps"), "5  x.lua:3");
    ck_assert_str_eq(config_text_source(config, "model.width"), "16  x.lua:1");
    /* seeds are what groups are measured over */
    ck_assert_int_eq(s->group_count, 4);
    ck_assert_str_eq(s->groups[3].label, "rope base=500, steps=6");
    ck_assert_int_eq(s->cells[2].group, s->cells[6].group);
}
END_TEST

START_TEST(test_list_and_zip) {
    static const char *const texts[] = {
        "model.encoding=alibi train.length=8 train.steps=10",
        "model.encoding=alibi train.length=8,16 train.steps=20",
        "model.encoding=rope model.positions=randomized N=64 train.length=8 train.steps=10",
        "model.encoding=rope model.positions=randomized N=64 train.length=8,16 train.steps=20"};
    const Study *s = config_text_study(
        BASE "return study { base = base,\n"
             "  list = { { ['model.encoding'] = 'alibi' },\n"
             "    { ['model.encoding'] = 'rope', ['model.positions'] = { 'randomized', N = 64 },\n"
             "      label = 'far rope' } },\n"
             "  zip = { ['train.length'] = { 8, { 8, 16 } }, ['train.steps'] = { 10, 20 } } }",
        "");
    ck_cells(s, 4, texts);
    ck_assert_str_eq(s->name, "x"); /* of the file */
    ck_assert_int_eq(s->group_count, 4);
    ck_assert_str_eq(s->groups[0].label, "alibi, length=8 steps=10");
    ck_assert_str_eq(s->groups[3].label, "far rope, length=8,16 steps=20");
    ck_assert_ptr_null(s->cells[1].label); /* a text of the file, none of ours */
    ck_assert_str_eq(s->cells[3].label, "far rope");
    ck_assert_int_eq(s->cells[3].config.train.stages[0].length.list.count, 2);
    ck_assert_str_eq(s->cells[3].config.model.positions->name, "randomized");
}
END_TEST

START_TEST(test_sweep) {
    static const char *const texts[] = {
        "seed=1 model.encoding=rope", "seed=1 model.encoding=alibi", "seed=2 model.encoding=rope",
        "seed=2 model.encoding=alibi", "seed=5 model.encoding=rope",
        "seed=5 model.encoding=alibi"};
    const Study *s = config_text_study(
        BASE "return base", "model.encoding=rope,alibi evaluate.lengths=8,16 seed=1..2,5");
    ck_cells(s, 6, texts);
    ck_assert(s->sweep);
    ck_assert_int_eq(s->cells[5].config.seed, 5);
    ck_assert_int_eq(s->cells[5].config.evaluate.lengths.count, 2); /* this key is a list */
    ck_assert_str_eq(s->cells[5].config.overrides,
                     "model.encoding=alibi\nevaluate.lengths=8,16\nseed=5\n");
    ck_assert_str_eq(config_text_source(&s->cells[5].config, "seed"), "5  command line");
    char *id = copy_text(s->cells[5].config.id);
    /* a cell is the run that the same values alone would be */
    const Config *c = config_text_load(BASE "return base",
                                       "model.encoding=alibi evaluate.lengths=8,16 seed=5");
    ck_assert_str_eq(c->id, id);
    free(id);
    s = config_text_study(BASE "return base", "train.length=8..16 model.encoding=rope");
    ck_assert_int_eq(s->cell_count, 1); /* a range of lengths is one value */
    s = config_text_study(BASE "return base", "model.encoding=rope model.encoding.base=500,1e4");
    ck_assert_int_eq(s->cell_count, 2);
    ck_assert_str_eq(s->cells[1].text, "model.encoding.base=1e4");
    s = config_text_study("return { task = 'copy', train = { stages = { { steps = 5, length = 8 },"
                          "  { steps = 5, length = 16 } } } }",
                          "train.stages.2.steps=5,7 train.stages.2.length=16,32");
    ck_assert_int_eq(s->cell_count, 2);
    ck_assert_int_eq(s->cells[1].config.train.total_steps, 12);
}
END_TEST

/* The command line is above the file: its keys are no longer varied by the study. */
START_TEST(test_overridden_study) {
    static const char text[] =
        BASE "return study { base = base, grid = { seed = { 1, 2, 3 },\n"
             "  ['model.encoding'] = { 'nope', 'rope' } } }";
    const Study *s = config_text_study(text, "seed=8 model.width=32");
    ck_cells(s, 2, (const char *const[]){"model.encoding=nope", "model.encoding=rope"});
    ck_assert_int_eq(s->cells[1].config.seed, 8);
    ck_assert_int_eq(s->cells[1].config.model.width, 32);
    s = config_text_study(text, "seed=8,9");
    ck_cells(s, 4, (const char *const[]){"seed=8 model.encoding=nope", "seed=8 model.encoding=rope",
                                         "seed=9 model.encoding=nope",
                                         "seed=9 model.encoding=rope"});
    s = config_text_study(text, "model.encoding=alibi seed=1");
    ck_cells(s, 1, (const char *const[]){""});
    ck_assert_str_eq(s->cells[0].config.model.encoding->name, "alibi");
    s = config_text_study(
        BASE "return study { name = 'y', base = base, grid = { seed = { 1, 2 } } }", "name=other");
    ck_assert_str_eq(s->name, "other");
    ck_assert_str_eq(s->cells[1].config.name, "other");
}
END_TEST

/* Entries of list and zip lose the key, and with it a label that says no longer what they are; what
   has become the same counts once. */
START_TEST(test_overridden_entries) {
    static const char list[] =
        BASE "return study { base = base, list = {\n"
             "  { ['model.encoding'] = 'nope', label = 'none' },\n"
             "  { ['model.encoding'] = 'alibi', ['train.steps'] = 5, label = 'short' },\n"
             "  { ['model.encoding'] = 'rope', ['model.positions'] = { 'randomized', N = 32 },\n"
             "    label = 'near' },\n"
             "  { ['model.encoding'] = 'rope', ['model.positions'] = { 'randomized', N = 64 },\n"
             "    ['train.steps'] = 5, label = 'far' },\n"
             "  { ['model.positions'] = { 'randomized', N = 64 }, ['train.steps'] = 5 } } }";
    const Study *s = config_text_study(list, "model.encoding=alibi");
    ck_cells(s, 4, (const char *const[]){"", "train.steps=5", "model.positions=randomized N=32",
                                         "model.positions=randomized N=64 train.steps=5"});
    for (int c = 0; c < 4; c++) {
        ck_assert_ptr_null(s->cells[c].label);
        ck_assert_str_eq(s->cells[c].config.model.encoding->name, "alibi");
    }
    ck_assert_str_eq(s->groups[2].label, "randomized N=32"); /* no longer "near" */
    ck_assert_str_eq(s->groups[3].label, "randomized N=64 steps=5");
    s = config_text_study(list, "train.steps=7");
    ck_assert_int_eq(s->cell_count, 5);
    ck_assert_str_eq(s->cells[0].label, "none"); /* it has lost nothing */
    ck_assert_ptr_null(s->cells[1].label);
    ck_assert_str_eq(s->cells[2].label, "near");
    ck_cells(config_text_study(list, "model.encoding=alibi model.positions=plain train.steps=5"), 1,
             (const char *const[]){""});

    static const char zip[] =
        BASE "return study { base = base, grid = { seed = { 1, 2 } }, zip = {\n"
             "  ['train.length'] = { 8, 16, 16 }, ['train.steps'] = { 5, 5, 6 } } }";
    ck_cells(config_text_study(zip, "train.length=8 seed=3"), 2,
             (const char *const[]){"train.steps=5", "train.steps=6"});
    ck_cells(config_text_study(zip, "train.length=8 train.steps=9,10 seed=3"), 2,
             (const char *const[]){"train.steps=9", "train.steps=10"});
    ck_cells(config_text_study(zip, "seed=3 train.steps=9 train.length=8"), 1,
             (const char *const[]){""});
    /* what the file itself says twice stays a mistake */
    ck_assert_ptr_nonnull(strstr(
        config_text_study_refusal(BASE "return study { base = base, list = {\n"
                                       "  { ['train.steps'] = 5 }, { ['train.steps'] = 5 } } }",
                                  "model.encoding=nope"),
        "x.lua:4: list.2.train.steps: 5 is there twice"));
}
END_TEST

START_TEST(test_included_base) {
    config_text_write("parts/base.lua", BASE "base.model.width = 24\nreturn base");
    const Study *s = config_text_study("return study { base = include 'parts/base.lua',\n"
                                       "  grid = { seed = { 1, 2 } } }",
                                       "");
    ck_assert_int_eq(s->cells[1].config.model.width, 24);
    const Config *config = &s->cells[1].config;
    ck_assert_str_eq(config_text_source(config, "model.width"), "24  parts/base.lua:3");
    ck_assert_str_eq(config_text_source(config, "model.heads"), "2  parts/base.lua:1");
    ck_assert_str_eq(s->name, "x");
    ck_assert_ptr_nonnull(strstr(s->lua, "-- included: "));
    ck_assert_ptr_nonnull(strstr(s->lua, "base.model.width = 24"));
}
END_TEST

/* One run of a study is read alone: what is wrong with others is none of its business. */
START_TEST(test_one_cell) {
    const char *path = config_text_write(
        "x.lua", BASE "return study { base = base, claims = 5, grid = { seed = { 1, 2 },\n"
                      "  ['model.heads'] = { 2, 3 }, ['train.steps'] = { 10, -1 } } }");
    Study s;
    Mistakes mistakes;
    ck_assert(!study_load(path, 0, 0, NULL, &s, &mistakes));
    free(mistakes.text);
    for (int index = 1; index <= 9; index++) {
        const bool wrong = index <= 8 && index % 2 == 0; /* steps = -1 */
        ck_assert_int_eq(study_load(path, index, 0, NULL, &s, &mistakes), !wrong);
        free(mistakes.text);
        if (wrong) continue;
        ck_assert_int_eq(s.cell_count, 8);
        ck_assert_int_eq(s.claim_count, 0);
        for (int c = 0; c < 8; c++) {
            const bool defined = c % 4 == 0; /* heads = 2 */
            ck_assert_int_eq(s.cells[c].config.id != NULL, c + 1 == index && defined);
            ck_assert_int_eq(s.cells[c].undefined != NULL, c + 1 == index && !defined);
        }
        if (index == 5) {
            ck_assert_str_eq(s.cells[4].text, "seed=2 model.heads=2 train.steps=10");
            ck_assert_int_eq(s.cells[4].config.seed, 2);
        }
        study_free(&s);
    }
}
END_TEST

START_TEST(test_functions) {
    const Study *s = config_text_study(
        BASE "local function halved(step) return 1 / 2 ^ step end\n"
             "return study { base = base, grid = { ['train.learning_rate'] = { 0.5, halved,\n"
             "  function(step) return step end } } }",
        "");
    ck_assert_int_eq(s->cell_count, 3);
    ck_assert_ptr_null(s->cells[0].config.train.schedule);
    ck_assert_double_eq(s->cells[1].config.train.schedule[2], 0.125);
    ck_assert_double_eq(s->cells[2].config.train.schedule[2], 3);
    ck_assert_str_ne(s->cells[1].config.id, s->cells[2].config.id);
}
END_TEST

/* Values that are right one by one and impossible together make a cell not defined. */
START_TEST(test_undefined_cells) {
    static const char text[] = BASE "return study { base = base,\n"
                                    "  grid = { ['model.heads'] = { 2, 3 }, seed = { 1, 2 } } }";
    const Study *s = config_text_study(text, "");
    ck_assert_int_eq(s->cell_count, 4);
    for (int c = 0; c < 4; c++) ck_assert(!s->cells[c].undefined == !(c % 2));
    ck_assert_ptr_nonnull(
        strstr(s->cells[1].undefined, "width = 16 is not a multiple of heads = 3"));
    ck_assert_ptr_null(s->cells[1].config.id);
    s = config_text_study(BASE "return study { base = base,\n"
                               "  grid = { ['model.encoding'] = { { 'learned', positions = 8 },\n"
                               "    'rope' } } }",
                          "");
    ck_assert_ptr_nonnull(strstr(s->cells[0].undefined, "learned has 8 positions"));
    ck_assert_ptr_null(s->cells[1].undefined);
    /* equal runs under two names are one run */
    ck_assert_ptr_nonnull(strstr(
        config_text_study_refusal(BASE "return study { base = base, grid = {\n"
                                       "  ['model.encoding'] = { 'rope',\n"
                                       "    { 'rope', base = 10000 } } } }",
                                  ""),
        "x.lua:3: model.encoding=rope and model.encoding=rope base=10000 are the same run, rope-"));
    /* with none left there is nothing to run */
    ck_assert_ptr_nonnull(strstr(config_text_study_refusal(text, "model.width=17"),
                                 "width = 17 is not a multiple of heads = 2"));
}
END_TEST

/* ---- claims ------------------------------------------------------------------------------- */

START_TEST(test_claims) {
    const Study *s = config_text_study(
        BASE
        "return study { base = base, grid = { seed = { 1, 2 }, task = { 'copy', 'induction' },\n"
        "    ['model.encoding'] = { 'nope', { 'rope', base = 500 }, 'alibi' } },\n"
        "  claims = {\n"
        "    { 'ahead', task = 'copy', left = 'nope', length = { 1.5, 2 },\n"
        "      right = { { 'rope', base = 500 }, 'alibi' } },\n"
        "    { 'collapses', left = { ['model.encoding'] = 'alibi', task = 'copy' }, length = 2,\n"
        "      relation = '<', value = 0.1, metric = 'token_accuracy', trained = 0.5 } } }",
        "");
    ck_assert_int_eq(s->claim_count, 5);
    const Claim *c = &s->claims[1]; /* nope against rope at 2 */
    ck_assert_str_eq(c->name, "ahead");
    ck_assert_int_eq(c->left.count, 2);
    ck_assert_str_eq(c->left.keys[0].key, "task");
    ck_assert_str_eq(c->left.keys[0].value, "copy");
    ck_assert_str_eq(c->left.keys[1].key, "model.encoding");
    ck_assert_str_eq(c->left.keys[1].value, "nope");
    ck_assert_int_eq(c->right.count, 3);
    ck_assert_str_eq(c->right.keys[1].value, "rope");
    ck_assert_str_eq(c->right.keys[2].key, "model.encoding.base");
    ck_assert_str_eq(c->right.keys[2].value, "500");
    ck_assert_double_eq(c->length, 2);
    ck_assert_int_eq(c->metric, METRIC_SEQUENCE_ACCURACY);
    ck_assert(!c->less && !c->against_value);
    ck_assert_double_eq(c->trained, CLAIM_TRAINED);
    ck_assert_str_eq(s->claims[2].right.keys[1].value, "alibi");
    ck_assert_double_eq(s->claims[2].length, 1.5);
    c = &s->claims[4];
    ck_assert(c->less && c->against_value);
    ck_assert_double_eq(c->value, 0.1);
    ck_assert_int_eq(c->metric, METRIC_TOKEN_ACCURACY);
    ck_assert_double_eq(c->trained, 0.5);
    ck_assert_int_eq(c->left.count, 2);
    ck_assert_int_eq(c->right.count, 0);
}
END_TEST

/* What the command line takes away is missed by no claim. */
START_TEST(test_overridden_claims) {
    static const char text[] =
        BASE "return study { base = base, grid = { task = { 'copy', 'induction' },\n"
             "    ['model.encoding'] = { 'nope', 'alibi', { 'rope', fraction = 0.5 } } },\n"
             "  claims = {\n"
             "    { 'a', task = 'copy', left = 'nope', length = 2,\n"
             "      right = { 'alibi', { 'rope', fraction = 0.5 } } },\n"
             "    { 'b', task = 'induction', left = 'nope', length = 2, value = 0.5 } } }";
    ck_assert_int_eq(config_text_study(text, "")->claim_count, 3);
    ck_assert_int_eq(config_text_study(text, "task=induction")->claim_count, 1);
    const Study *s = config_text_study(text, "model.encoding=nope,alibi");
    ck_assert_int_eq(s->claim_count, 2);
    ck_assert_str_eq(s->claims[0].right.keys[1].value, "alibi");
    ck_assert_str_eq(s->claims[1].name, "b");
    ck_assert_int_eq(config_text_study(text, "model.encoding=t5")->claim_count, 0);
    /* of a key that stays it is a mistake */
    ck_assert_ptr_nonnull(
        strstr(config_text_study_refusal(BASE "return study { base = base,\n"
                                              "  grid = { ['model.encoding'] = { 'nope' } },\n"
                                              "  claims = { { 'a', left = 'rope', length = 2,\n"
                                              "    value = 0.5 } } }",
                                         "task=induction"),
               "x.lua:5: claims.1.left: no run of the study has model.encoding = rope"));
}
END_TEST

/* ---- rates -------------------------------------------------------------------------------- */

START_TEST(test_rates) {
    Study *s = (Study *)(uintptr_t)config_text_study(
        BASE "return study { base = base, rates = { 0.001, 0.01, 0.1 },\n"
             "  grid = { seed = { 1, 2 }, ['model.encoding'] = { 'nope', 'rope', 'alibi' } } }",
        "");
    ck_assert_int_eq(s->cell_count, 18);
    ck_assert_int_eq(s->group_count, 3); /* the rate is no part of a group */
    ck_assert_str_eq(s->groups[1].label, "rope");
    ck_assert_str_eq(s->cells[10].text, "seed=2 model.encoding=nope train.learning_rate=0.01");
    ck_assert_int_eq(s->cells[10].rate, 1);
    ck_assert_double_eq(s->cells[10].config.train.learning_rate, 0.01);
    /* nope: the least mean, which is not the least loss; rope: the rate whose seeds are all there;
       alibi: nothing yet */
    double losses[18];
    for (int c = 0; c < 18; c++) losses[c] = (double)NAN;
    static const double of[2][2][3] = {{{1, 2, 3}, {9, 2.5, 3.5}},
                                       {{0.1, 5, 6}, {(double)NAN, 5, 4}}};
    for (int group = 0; group < 2; group++)
        for (int seed = 0; seed < 2; seed++)
            for (int rate = 0; rate < 3; rate++)
                losses[9 * seed + 3 * group + rate] = of[group][seed][rate];
    study_choose_rates(s, losses);
    ck_assert_int_eq(s->groups[0].rate, 1);
    ck_assert_int_eq(s->groups[1].rate, 1); /* 5 and 5: the first of equal ones */
    ck_assert_int_eq(s->groups[2].rate, -1);
    double mean;
    ck_assert_int_eq(study_rate_loss(s, 0, 0, losses, &mean), 2);
    ck_assert_double_eq(mean, 5);
    ck_assert_int_eq(study_rate_loss(s, 1, 0, losses, &mean), 1);
}
END_TEST

/* ---- pairs -------------------------------------------------------------------------------- */

/* Two cells of one seed see the same examples, and what their models share starts equal. */
START_TEST(test_paired) {
    const Study *s = config_text_study(
        BASE "base.train.length = { from = 8, to = 16 }\n"
             "return study { base = base, grid = { seed = { 3, 4 },\n"
             "  ['model.encoding'] = { 'learned', 'kerple' } } }",
        "");
    Trainer *trainers[3];
    for (int i = 0; i < 3; i++) trainers[i] = train_create(&s->cells[i].config);
    int shared = 0, other_seed = 0;
    const Model *a = trainers[0]->model, *b = trainers[1]->model, *c = trainers[2]->model;
    for (int i = 0; i < a->parameter_count; i++)
        for (int j = 0; j < b->parameter_count; j++) {
            const Parameter *p = &a->parameters[i], *q = &b->parameters[j];
            if (strcmp(p->name, q->name) != 0) continue;
            ck_assert_uint_eq(p->count, q->count);
            const size_t bytes = p->count * sizeof(real);
            ck_assert_int_eq(memcmp(a->values + p->offset, b->values + q->offset, bytes), 0);
            other_seed += memcmp(a->values + p->offset, c->values + p->offset, bytes) != 0;
            shared++;
        }
    ck_assert_int_gt(shared, 5);
    ck_assert_int_lt(shared, a->parameter_count); /* the table of learned is its own */
    ck_assert_int_gt(other_seed, 3);
    bool different = false;
    for (int step = 0; step < 5; step++) {
        for (int i = 0; i < 3; i++) ck_assert_ptr_null(train_step(trainers[i]));
        const Examples *x = &trainers[0]->examples, *y = &trainers[1]->examples;
        const Examples *z = &trainers[2]->examples;
        ck_assert_uint_eq(x->length, y->length);
        ck_assert_uint_eq(x->items, y->items);
        const size_t bytes = x->items * x->length * sizeof *x->tokens;
        ck_assert_int_eq(memcmp(x->tokens, y->tokens, bytes), 0);
        ck_assert_int_eq(memcmp(x->targets, y->targets, bytes), 0);
        different = different || x->length != z->length || memcmp(x->tokens, z->tokens, bytes);
    }
    ck_assert(different);
    for (int i = 0; i < 3; i++) train_free(trainers[i]);
}
END_TEST

Suite *suite_study(void);
Suite *suite_study(void) {
    Suite *suite = suite_create("study");
    TCase *expansion = tcase_create("expansion");
    tcase_add_checked_fixture(expansion, config_text_open, config_text_close);
    tcase_add_test(expansion, test_grid);
    tcase_add_test(expansion, test_list_and_zip);
    tcase_add_test(expansion, test_sweep);
    tcase_add_test(expansion, test_overridden_study);
    tcase_add_test(expansion, test_overridden_entries);
    tcase_add_test(expansion, test_overridden_claims);
    tcase_add_test(expansion, test_included_base);
    tcase_add_test(expansion, test_one_cell);
    tcase_add_test(expansion, test_functions);
    tcase_add_test(expansion, test_undefined_cells);
    tcase_add_test(expansion, test_claims);
    tcase_add_test(expansion, test_rates);
    tcase_add_test(expansion, test_paired);
    suite_add_tcase(suite, expansion);
    return suite;
}
