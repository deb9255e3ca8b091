/* From a Lua text and overrides to a Config, or to every mistake with its place. Wrong and hostile
   configs are files in tests/bad_configs/, whose first lines say the messages word by word. */
#include <check.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/base.h"
#include "tests/config_text.h"

/* The shortest config, with room for more keys of the top level or of train. */
#define SMALL(more) "return { task = 'copy', train = { steps = 10, length = 16 }, " more " }"
#define TRAIN(more) "return { task = 'copy', train = { " more " } }"

/* ---- values ------------------------------------------------------------------------------- */

START_TEST(test_defaults) {
    const Config *c = config_text_load(SMALL(""), "");
    ck_assert_str_eq(c->name, "x");
    ck_assert_int_eq(c->seed, 1);
    ck_assert_int_eq(c->init_seed, 1);
    ck_assert_int_eq(c->data_seed, 1);
    ck_assert_str_eq(c->task->name, "copy");
    ck_assert_str_eq(c->model.encoding->name, "nope");
    ck_assert_str_eq(c->model.positions->name, "plain");
    ck_assert_str_eq(c->model.attention->name, "softmax");
    ck_assert_ptr_null(config_linear(c));
    ck_assert_int_eq(c->model.layers, 2);
    ck_assert_int_eq(c->model.width, 128);
    ck_assert_int_eq(c->model.heads, 4);
    ck_assert_int_eq(c->model.mlp, 4);
    ck_assert(!c->model.bias && !c->model.tied && c->model.causal);
    ck_assert_double_eq(c->model.dropout, 0);
    ck_assert_double_eq(c->model.init_std, 0.05);
    ck_assert_int_eq(c->train.tokens, 16384);
    ck_assert_int_eq(c->train.accumulate, 1);
    ck_assert_double_eq(c->train.learning_rate, 1e-3);
    ck_assert_int_eq(c->train.decay, DECAY_CONSTANT);
    ck_assert_int_eq(c->train.warmup, 50);
    ck_assert_int_eq(c->train.stage_warmup, 20);
    ck_assert_double_eq(c->train.weight_decay, 0.01);
    ck_assert_double_eq(c->train.beta1, 0.9);
    ck_assert_double_eq(c->train.beta2, 0.999);
    ck_assert_double_eq(c->train.epsilon, 1e-8);
    ck_assert_double_eq(c->train.clip, 1);
    ck_assert_int_eq(c->train.log_every, 10);
    ck_assert_int_eq(c->train.checkpoint_every, 200);
    ck_assert_int_eq(c->train.snapshot_every, 0);
    ck_assert_ptr_null(c->train.schedule);
    ck_assert_int_eq(c->train.stage_count, 1);
    ck_assert_int_eq(c->train.stages[0].batch, 0);
    ck_assert_int_eq(c->train.total_steps, 10);
    ck_assert_int_eq(c->evaluate.lengths.count, 1);
    ck_assert_int_eq(c->evaluate.lengths.values[0], 16);
    ck_assert_int_eq(c->evaluate.examples, 64);
    ck_assert_int_eq(c->evaluate.every, 0);
    ck_assert_str_eq(c->overrides, "");
}
END_TEST

/* An option of a kind, as Lua text. */
static const char *kind_value(const Option *table, const void *options, const char *name) {
    static char text[256];
    const Option *option = option_find(table, name);
    ck_assert_ptr_nonnull(option);
    char *value = option_format(option, options);
    snprintf(text, sizeof text, "%s", value);
    free(value);
    return text;
}

static const char *encoding_value(const Config *c, const char *name) {
    return kind_value(c->model.encoding->options, &c->model.encoding_options, name);
}

static const char *stage_value(const Config *c, int stage, const char *name) {
    return kind_value(c->task->options, &c->train.stages[stage].task_options, name);
}

START_TEST(test_computed_values) {
    const Config *c = config_text_load(
        "local width, lengths = 2 ^ 6, {}\n"
        "for i = 1, 3 do lengths[i] = 16 * i end\n"
        "return { name = ('a'):rep(3) .. '-1', seed = 7, data_seed = 8,\n"
        "  task = { 'copy', alphabet = 8.0 },\n"
        "  model = { width = width, heads = width // 8, bias = not nil, dropout = 1 / 8,\n"
        "    encoding = { 'rope', base = 500, layout = 'interleaved' },\n"
        "    attention = { 'linear', feature_map = 'exp', rotate = 'before' } },\n"
        "  train = { steps = 1e3, length = lengths, decay = 'linear', batch = 4 },\n"
        "  evaluate = { lengths = { 64, 8, 32 } } }",
        "");
    ck_assert_str_eq(c->name, "aaa-1");
    ck_assert_int_eq(c->init_seed, 7);
    ck_assert_int_eq(c->data_seed, 8);
    ck_assert_str_eq(kind_value(c->task->options, &c->task_options, "alphabet"), "8");
    ck_assert_int_eq(c->model.width, 64);
    ck_assert_int_eq(c->model.heads, 8);
    ck_assert(c->model.bias);
    ck_assert_double_eq(c->model.dropout, 0.125);
    ck_assert_str_eq(encoding_value(c, "base"), "500");
    ck_assert_str_eq(encoding_value(c, "layout"), "\"interleaved\"");
    ck_assert_int_eq(config_linear(c)->feature_map, FEATURE_EXP);
    ck_assert_int_eq(config_linear(c)->rotate, ROTATE_BEFORE);
    ck_assert_int_eq(c->train.total_steps, 1000);
    ck_assert_int_eq(c->train.decay, DECAY_LINEAR);
    ck_assert_int_eq(c->train.stages[0].length.range, 0);
    ck_assert_int_eq(c->train.stages[0].length.list.count, 3);
    ck_assert_int_eq(c->train.stages[0].length.list.values[2], 48);
    ck_assert_int_eq(c->train.stages[0].batch, 4);
    ck_assert_uint_eq(config_longest(c), 48);
    ck_assert_int_eq(c->evaluate.lengths.count, 3);
    ck_assert_int_eq(c->evaluate.lengths.values[0], 8);
    ck_assert_int_eq(c->evaluate.lengths.values[2], 64);
}
END_TEST

/* What the file gives does not depend on the order in which Lua happens to keep a table. */
START_TEST(test_pairs_in_order) {
    const Config *c = config_text_load(
        "local name = ''\n"
        "for key in pairs { b = 1, a = 2, [10] = 3, [true] = 4, [2] = 5, aa = 6, [-1.5] = 7 } do\n"
        "  name = name .. tostring(key) .. '_'\n"
        "end\n" SMALL("name = name"),
        "");
    ck_assert_str_eq(c->name, "-1.5_2_10_a_aa_b_true_");
    c = config_text_load("local t = { a = 1, b = 2, c = 3 }\n"
                         "for key in pairs(t) do t.b = nil t[key] = 'seen' end\n" SMALL(
                             "name = t.a .. tostring(t.b) .. t.c"),
                         "");
    ck_assert_str_eq(c->name, "seennilseen");
}
END_TEST

/* ---- stages ------------------------------------------------------------------------------- */

static const char staged[] = "local long = { steps = 100, length = 64 }\n"
                             "return { task = { 'recall', pairs = 4 }, train = { batch = 6,\n"
                             "  stages = { { steps = 50, length = 32, pairs = 2, batch = 0 },\n"
                             "             long, long } } }";

START_TEST(test_stages) {
    const Config *c = config_text_load(staged, "");
    ck_assert_int_eq(c->train.stage_count, 3);
    ck_assert_int_eq(c->train.total_steps, 250);
    ck_assert_uint_eq(config_longest(c), 64);
    ck_assert_str_eq(stage_value(c, 0, "pairs"), "2");
    ck_assert_str_eq(stage_value(c, 1, "pairs"), "4");
    ck_assert_str_eq(stage_value(c, 1, "keys"), "128");
    ck_assert_int_eq(c->train.stages[0].batch, 0);
    ck_assert_int_eq(c->train.stages[1].batch, 6);

    static const struct {
        int64_t step, first;
        int stage;
    } steps[] = {{1, 1, 0}, {50, 1, 0}, {51, 51, 1}, {150, 51, 1}, {151, 151, 2}, {250, 151, 2}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        int64_t first;
        ck_assert_int_eq(config_stage(c, steps[i].step, &first), steps[i].stage);
        ck_assert_int_eq(first, steps[i].first);
    }
}
END_TEST

START_TEST(test_stage_overrides) {
    /* Both stages are one table in the file; only one of them changes. */
    const Config *c = config_text_load(
        staged, "train.stages.2.steps=7 task.pairs=3 train.stages.3.length=16..32");
    ck_assert_int_eq(c->train.stages[1].steps, 7);
    ck_assert_int_eq(c->train.stages[2].steps, 100);
    ck_assert_int_eq(c->train.stages[1].length.range, 0);
    ck_assert_int_eq(c->train.stages[2].length.range, 1);
    /* A stage without pairs of its own follows the task's. */
    ck_assert_str_eq(stage_value(c, 0, "pairs"), "2");
    ck_assert_str_eq(stage_value(c, 1, "pairs"), "3");
    c = config_text_load(staged, "train.stages.1.pairs=5");
    ck_assert_str_eq(stage_value(c, 0, "pairs"), "5");
    ck_assert_str_eq(stage_value(c, 1, "pairs"), "4");
}
END_TEST

/* ---- overrides ------------------------------------------------------------------------------ */

START_TEST(test_overrides) {
    const Config *c = config_text_load(
        SMALL("model = { width = 64, encoding = 'rope' }, seed = 2"),
        "seed=3 model.width=256 model.encoding.base=5e5 evaluate.lengths=64,32 train.length=8..16 "
        "task.alphabet=8 train.steps=1e3 train.learning_rate=1 model.bias=true train.decay=cosine "
        "name=a.b-C_1 model.positions=randomized model.positions.N=0x40 model.width=128");
    ck_assert_int_eq(c->seed, 3);
    ck_assert_int_eq(c->model.width, 128); /* the last one of a key */
    ck_assert_str_eq(encoding_value(c, "base"), "500000");
    ck_assert_int_eq(c->evaluate.lengths.count, 2);
    ck_assert_int_eq(c->evaluate.lengths.values[1], 64);
    ck_assert_int_eq(c->train.length.range, 1);
    ck_assert_int_eq(c->train.length.list.values[0], 8);
    ck_assert_int_eq(c->train.length.list.values[1], 16);
    ck_assert_str_eq(stage_value(c, 0, "alphabet"), "8");
    ck_assert_int_eq(c->train.total_steps, 1000);
    ck_assert_double_eq(c->train.learning_rate, 1);
    ck_assert(c->model.bias);
    ck_assert_int_eq(c->train.decay, DECAY_COSINE);
    ck_assert_str_eq(c->name, "a.b-C_1");
    ck_assert_str_eq(c->model.positions->name, "randomized");
    ck_assert_ptr_nonnull(strstr(c->overrides, "seed=3\nmodel.width=256\n"));
    ck_assert_str_eq(config_text_source(c, "seed"), "3  command line");
    ck_assert_str_eq(config_text_source(c, "model.encoding.base"), "500000  command line");
    ck_assert_str_eq(config_text_source(c, "model.encoding.layout"), "\"half\"  default");
}
END_TEST

START_TEST(test_overridden_kind) {
    static const char text[] =
        SMALL("model = { encoding = { 'rope', base = 500, layout = 'interleaved' } }");
    const Config *c = config_text_load(text, "");
    ck_assert_str_eq(encoding_value(c, "base"), "500");
    /* A kind that is set drops the options that the file gave, whatever the kind ... */
    c = config_text_load(text, "model.encoding=rope");
    ck_assert_str_eq(encoding_value(c, "base"), "10000");
    ck_assert_str_eq(encoding_value(c, "layout"), "\"half\"");
    /* ... and comes before its options, whatever the command line says first. */
    c = config_text_load(text, "model.encoding.base=7 model.encoding=rope");
    ck_assert_str_eq(encoding_value(c, "base"), "7");
    ck_assert_str_eq(encoding_value(c, "layout"), "\"half\"");
    /* An option alone keeps the others. */
    c = config_text_load(text, "model.encoding.base=7");
    ck_assert_str_eq(encoding_value(c, "base"), "7");
    ck_assert_str_eq(encoding_value(c, "layout"), "\"interleaved\"");
    /* Also of a kind that has its default. */
    c = config_text_load(SMALL(""), "model.encoding=learned model.encoding.past_end=clamp");
    ck_assert_str_eq(c->model.encoding->name, "learned");
    ck_assert_str_eq(encoding_value(c, "past_end"), "\"clamp\"");
}
END_TEST

/* An override that repairs what the file has wrong leaves no mistake. */
START_TEST(test_override_of_a_mistake) {
    ck_assert_str_eq(config_text_refusal(SMALL("seed = -1"), ""),
                     "x.lua:1: seed: got -1; expected an integer from 0 to 9007199254740992\n");
    ck_assert_int_eq(config_text_load(SMALL("seed = -1"), "seed=4")->seed, 4);
}
END_TEST

/* ---- lengths and learning rates ------------------------------------------------------------- */

START_TEST(test_batch) {
    size_t length, batch;
    const Config *c = config_text_load(TRAIN("steps = 9, length = 300, tokens = 1000"), "");
    config_batch(c, 5, &length, &batch);
    ck_assert_uint_eq(length, 300);
    ck_assert_uint_eq(batch, 3);
    c = config_text_load(TRAIN("steps = 9, length = 300, tokens = 200"), "");
    config_batch(c, 5, &length, &batch);
    ck_assert_uint_eq(batch, 1);
    c = config_text_load(TRAIN("steps = 9, length = 300, tokens = 200, batch = 7"), "");
    config_batch(c, 5, &length, &batch);
    ck_assert_uint_eq(batch, 7);
    c = config_text_load(staged, "train.tokens=128");
    config_batch(c, 50, &length, &batch);
    ck_assert_uint_eq(length, 32);
    ck_assert_uint_eq(batch, 4);
    config_batch(c, 51, &length, &batch);
    ck_assert_uint_eq(length, 64);
    ck_assert_uint_eq(batch, 6);
}
END_TEST

/* Counts of each length in 1 .. STEPS; the bound is five standard deviations. */
enum { STEPS = 3000, LENGTHS = 64 };
static void count_lengths(const Config *c, int counts[LENGTHS]) {
    memset(counts, 0, LENGTHS * sizeof *counts);
    for (int64_t step = 1; step <= STEPS; step++) {
        size_t length, batch;
        config_batch(c, step, &length, &batch);
        ck_assert_uint_lt(length, LENGTHS);
        ck_assert_uint_eq(batch, 1024 / length);
        counts[length]++;
    }
}

START_TEST(test_mixed_lengths) {
    int counts[LENGTHS], again[LENGTHS];
    count_lengths(
        config_text_load(TRAIN("steps = 3000, tokens = 1024, length = { 8, 16, 50 }"), ""), counts);
    ck_assert_int_eq(counts[8] + counts[16] + counts[50], STEPS);
    ck_assert_int_lt(abs(counts[8] - 1000), 130);
    ck_assert_int_lt(abs(counts[16] - 1000), 130);

    static const char range[] =
        TRAIN("steps = 3000, tokens = 1024, length = { from = 8, to = 11 }");
    count_lengths(config_text_load(range, ""), counts);
    ck_assert_int_eq(counts[8] + counts[9] + counts[10] + counts[11], STEPS);
    for (int length = 8; length <= 11; length++) ck_assert_int_lt(abs(counts[length] - 750), 119);

    /* The draw depends on the data seed alone. */
    count_lengths(config_text_load(range, "init_seed=9 model.width=64"), again);
    ck_assert_mem_eq(counts, again, sizeof counts);
    count_lengths(config_text_load(range, "data_seed=9"), again);
    ck_assert_mem_ne(counts, again, sizeof counts);
}
END_TEST

static const struct {
    const char *train;
    struct {
        int64_t step;
        double rate;
    } at[5];
} curves[] = {
    {"steps = 110, warmup = 10, learning_rate = 1", {{1, 0.1}, {9, 0.9}, {10, 1}, {110, 1}}},
    /* cos(pi / 4) = 0.70710678118654752 */
    {"steps = 110, warmup = 10, learning_rate = 1, decay = 'cosine', final_rate = 0.1",
     {{10, 1}, {35, 0.1 + 0.9 * 0.85355339059327376}, {60, 0.55}, {110, 0.1}}},
    {"steps = 110, warmup = 10, learning_rate = 1, decay = 'linear', final_rate = 0.1",
     {{5, 0.5}, {35, 0.775}, {60, 0.55}, {110, 0.1}}},
    {"steps = 100, warmup = 0, learning_rate = 2, decay = 'cosine'",
     {{1, 1.99950656036573167}, {50, 1}, {100, 0}}}, /* 1 + cos(pi / 100) */
    {"steps = 10, warmup = 20, learning_rate = 1", {{1, 0.05}, {10, 0.5}}},
    {"steps = 10, warmup = 20, learning_rate = 1, decay = 'linear'", {{10, 0.5}}},
    {"stages = { { steps = 100, length = 16 }, { steps = 100, length = 16 } }, warmup = 10, "
     "stage_warmup = 4, learning_rate = 2",
     {{1, 0.2}, {100, 2}, {101, 0.5}, {103, 1.5}, {104, 2}}},
    {"stages = { { steps = 100, length = 16 }, { steps = 100, length = 16 } }, warmup = 0, "
     "stage_warmup = 4, learning_rate = 2, decay = 'linear'",
     {{50, 1.5}, {100, 1}, {102, 0.49}, {200, 0}}},
    {"steps = 10, warmup = 5, learning_rate = function(step) return step / 8 end",
     {{1, 0.125}, {4, 0.5}, {10, 1.25}}},
};
enum { CURVES = sizeof curves / sizeof *curves };

START_TEST(test_learning_rate) {
    char text[512];
    const char *train = curves[_i].train;
    snprintf(text, sizeof text, "return { task = 'copy', train = { %s%s } }", train,
             strstr(train, "stages") ? "" : ", length = 16");
    const Config *c = config_text_load(text, "");
    for (int i = 0; i < 5 && curves[_i].at[i].step; i++)
        ck_assert_double_eq_tol(config_learning_rate(c, curves[_i].at[i].step),
                                curves[_i].at[i].rate, 1e-15);
}
END_TEST

/* ---- files ---------------------------------------------------------------------------------- */

/* Includes lead anywhere inside the project, the folder with an entry `harness`, and nowhere else,
   whatever the path looks like. */
START_TEST(test_includes) {
    config_text_write("project/harness", "");
    config_text_write("outside.lua", "return {}");
    config_text_write("project/base/train.lua", "-- base\nreturn { steps = 10, length = 16 }");
    const char *path = config_text_write("project/configs/deep/x.lua",
                                         "return { task = 'copy',\n"
                                         "  train = include '../../base/./train.lua' }");
    const Config *c = config_text_load_file(path, "");
    ck_assert_int_eq(c->train.steps, 10);
    ck_assert_str_eq(config_text_source(c, "train.steps"), "10  project/base/train.lua:2");
    ck_assert_str_eq(c->lua + strlen("return { task = 'copy',\n"
                                     "  train = include '../../base/./train.lua' }"),
                     strstr(c->lua, "\n-- included: "));
    ck_assert_ptr_nonnull(strstr(c->lua, "/project/base/train.lua\n-- base\nreturn { steps"));

    static const char *const outside[] = {"../../outside.lua", "/etc/passwd", "link.lua",
                                          "../base/../../outside.lua"};
    char *link = copy_text(config_text_write("project/configs/link.lua", ""));
    ck_assert_int_eq(unlink(link), 0);
    ck_assert_int_eq(symlink("../../outside.lua", link), 0);
    free(link);
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        char text[128], expected[128];
        snprintf(text, sizeof text, "\nreturn include '%s'", outside[i]);
        snprintf(expected, sizeof expected,
                 "project/configs/x.lua:2: include \"%s\": lies outside of the project folder ",
                 outside[i]);
        const char *mistake =
            config_text_refusal_of_file(config_text_write("project/configs/x.lua", text), "");
        ck_assert_msg(!strncmp(mistake, expected, strlen(expected)), "%s", mistake);
    }
}
END_TEST

/* The file that training starts from lies in the project folder, unless the command line names it;
   its hash is part of the run, its path is not. */
START_TEST(test_init_from) {
    char text[128], override[128], hash[2][65];
    snprintf(text, sizeof text, TRAIN("steps = 10, length = 16, init_from = '/etc/passwd'"));
    const char *outside = "x.lua:1: train.init_from: /etc/passwd: lies outside of the project ";
    ck_assert(!strncmp(config_text_refusal(text, ""), outside, strlen(outside)));
    config_text_load(text, "train.init_from=/etc/passwd");
    ck_assert(strstr(config_text_refusal(SMALL(""), "train.init_from=/nowhere"),
                     "/nowhere: No such file or directory"));
    ck_assert(strstr(config_text_refusal(SMALL(""), "train.init_from=/etc"), "Is a directory"));
    ck_assert(strstr(config_text_refusal(SMALL(""), "train.init_sha256=12"),
                     "train.init_from is not given"));
    for (int changed = 0; changed < 2; changed++) {
        snprintf(override, sizeof override, "train.init_from=%s",
                 config_text_write("a.h5", changed ? "abc" : ""));
        strcpy(hash[changed], config_text_load(SMALL(""), override)->sha256);
    }
    ck_assert_str_ne(hash[0], hash[1]);
    const Config *c = config_text_load(SMALL(""), override);
    /* of FIPS 180-4's example, "abc" */
    ck_assert_str_eq(c->train.init_sha256,
                     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    snprintf(override, sizeof override, "train.init_from=%s", config_text_write("b.h5", "abc"));
    ck_assert_str_eq(config_text_load(SMALL(""), override)->sha256, hash[1]);
    strcat(override, " train.init_sha256=00");
    ck_assert(strstr(config_text_refusal(SMALL(""), override), "b.h5 has the SHA-256 ba7816bf"));
}
END_TEST

START_TEST(test_files_that_are_no_text) {
    ck_assert_str_eq(config_text_refusal_of_file("tests/none.lua", ""),
                     "tests/none.lua: No such file or directory\n");
    ck_assert_str_eq(config_text_refusal_of_file("tests", ""), "tests: is a folder\n");
    ck_assert_str_eq(config_text_refusal_of_file("/dev/zero", ""),
                     "/dev/zero: is not a regular file\n");
    ck_assert_str_eq(config_text_refusal("\033LuaT", ""),
                     "x.lua: attempt to load a binary chunk (mode is 't')\n");
    size_t size = (1 << 20) + 1;
    char *large = ALLOCATE(size + 1, char);
    memset(large, ' ', size);
    ck_assert_str_eq(config_text_refusal(large, ""), "x.lua: is larger than 1024 KiB\n");
    memcpy(large, "return {", 8);
    memset(large + 8, '{', 1000);
    large[1008] = 0;
    ck_assert_str_eq(config_text_refusal(large, ""), "x.lua: nested too deeply\n");
    free(large);
}
END_TEST

static int is_lua(const struct dirent *entry) {
    const char *end = strrchr(entry->d_name, '.');
    return end && !strcmp(end, ".lua");
}

START_TEST(test_shipped_configs) {
    static const char *const encodings_2k[] = {"rope", "nope", "sinusoidal", "learned"};
    for (size_t i = 0; i < sizeof encodings_2k / sizeof *encodings_2k; i++) {
        char path[96], name[64];
        snprintf(name, sizeof name, "%s_2k", encodings_2k[i]);
        snprintf(path, sizeof path, "configs/%s.lua", name);
        const Config *c = config_text_load_file(path, "");
        ck_assert_str_eq(c->name, name);
        ck_assert_str_eq(c->model.encoding->name, encodings_2k[i]);
        ck_assert_uint_eq(config_longest(c), 2048);
        ck_assert_int_eq(c->evaluate.lengths.values[c->evaluate.lengths.count - 1], 8192);
    }
    struct dirent **configs;
    const int count = scandir("configs", &configs, is_lua, alphasort);
    ck_assert_int_ge(count, 6);
    for (int i = 0; i < count; i++) {
        char path[512];
        snprintf(path, sizeof path, "configs/%s", configs[i]->d_name);
        const char *name = config_text_load_file(path, "")->name; /* without a mistake */
        ck_assert_int_eq(strncmp(name, configs[i]->d_name, strlen(name)), 0);
        free(configs[i]);
    }
    free(configs);
    const Config *c = config_text_load_file("configs/quickstart.lua", "");
    ck_assert_str_eq(c->name, "quickstart");
    int64_t longest = (int64_t)config_longest(c), last = c->evaluate.lengths.count - 1;
    ck_assert_int_eq(c->evaluate.lengths.values[last], 4 * longest);
}
END_TEST

/* ---- wrong and hostile configs ----------------------------------------------------------------
 */

#define BAD_CONFIGS "tests/bad_configs"

static struct dirent **bad_configs;

/* The text with <tasks> and <encodings> written out: new ones change no file here. */
static char *with_names(const char *text) {
    static const struct {
        const char *mark;
        int kind; /* in config_kinds */
    } marks[] = {{"<tasks>", 0}, {"<encodings>", 1}};
    char *all = copy_text(text);
    for (int m = 0; m < 2; m++) {
        const ConfigKind *kind = &config_kinds[marks[m].kind];
        char *at = strstr(all, marks[m].mark);
        if (!at) continue;
        char *longer = format_text("%.*s", (int)(at - all), all);
        for (size_t i = 0; i <= *kind->count; i++) {
            bool end = i == *kind->count;
            char *next = format_text("%s%s%s", longer, i && !end ? ", " : "",
                                     end ? at + strlen(marks[m].mark) : kind->kind(i).name);
            free(longer);
            longer = next;
        }
        free(all);
        all = longer;
    }
    return all;
}

/* Lines of the file that start with that comment, each with `end` behind it. */
static char *lines_of(const char *path, const char *start, char end) {
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    char *all = copy_text(""), *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, file) > 0) {
        if (strncmp(line, start, strlen(start))) continue;
        line[strcspn(line, "\n")] = 0;
        char *rest = with_names(line + strlen(start));
        char *longer = format_text("%s%s%c", all, rest, end);
        free(rest);
        free(all);
        all = longer;
    }
    free(line);
    fclose(file);
    return all;
}

/* Is `found` one of the lines? */
static bool among(const char *lines, const char *found) {
    const size_t length = strlen(found);
    for (; *lines; lines += strcspn(lines, "\n") + 1)
        if (strcspn(lines, "\n") + 1 == length && !strncmp(lines, found, length)) return true;
    return false;
}

/* Sanitizers keep more memory than the program takes; that of threads keeps signals back, too. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#if __has_feature(thread_sanitizer)
#define NO_SIGNALS 1
#endif
#endif

/* Of this process: other tests run beside it. */
static double cpu_seconds(const struct rusage *used) {
    return (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) +
           1e-6 * (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec);
}

START_TEST(test_bad_config) {
    char path[512];
    snprintf(path, sizeof path, BAD_CONFIGS "/%s", bad_configs[_i]->d_name);
    char *expected = lines_of(path, "-- expect: ", '\n');
    char *slow = lines_of(path, "-- on a slow machine: ", '\n');
#ifdef NO_SIGNALS
    if (*lines_of(path, "-- ThreadSanitizer ", '\n')) return;
#endif
    char *overrides = lines_of(path, "-- override: ", ' ');
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    double start = cpu_seconds(&used);
    const bool several = !strncmp(bad_configs[_i]->d_name, "study_", 6);
    const char *found = several ? config_text_study_refusal_of_file(path, overrides)
                                : config_text_refusal_of_file(path, overrides);
    getrusage(RUSAGE_SELF, &used);
    if (!among(slow, found)) ck_assert_str_eq(found, expected);
    ck_assert_double_lt(cpu_seconds(&used) - start, 2);
    /* A config is read as a study of one in the same words. */
    if (!several && !*overrides && cpu_seconds(&used) - start < 0.2)
        ck_assert_str_eq(config_text_study_refusal_of_file(path, overrides), expected);
    ck_assert_int_ne(access("/tmp/written_by_a_config", F_OK), 0);
#ifndef SANITIZED
    ck_assert_int_lt(used.ru_maxrss, 256 * 1024);
#endif
    free(expected);
    free(slow);
    free(overrides);
}
END_TEST

START_TEST(test_many_mistakes) {
    const char *text = config_text_refusal("local config = { task = 'copy' }\n"
                                           "for i = 1, 5000 do config['key' .. i] = i end\n"
                                           "return config",
                                           "");
    int lines = 0;
    for (const char *at = text; *at; at++) lines += *at == '\n';
    ck_assert_int_eq(lines, 101);
    ck_assert_str_eq(strstr(text, "..."), "... and 4900 more\n");
}
END_TEST

/* The clock of one config does not ring in the next one, nor afterwards. */
START_TEST(test_clock_is_put_away) {
    for (int i = 0; i < 3; i++) config_text_load(SMALL(""), "");
    usleep(1200000);
    config_text_load(SMALL(""), "");
}
END_TEST

Suite *suite_config(void);
Suite *suite_config(void) {
    Suite *suite = suite_create("config");
    TCase *values = tcase_create("values");
    tcase_add_checked_fixture(values, config_text_open, config_text_close);
    tcase_add_test(values, test_defaults);
    tcase_add_test(values, test_computed_values);
    tcase_add_test(values, test_pairs_in_order);
    tcase_add_test(values, test_stages);
    tcase_add_test(values, test_stage_overrides);
    tcase_add_test(values, test_overrides);
    tcase_add_test(values, test_overridden_kind);
    tcase_add_test(values, test_override_of_a_mistake);
    tcase_add_test(values, test_batch);
    tcase_add_test(values, test_mixed_lengths);
    tcase_add_loop_test(values, test_learning_rate, 0, CURVES);
    tcase_add_test(values, test_includes);
    tcase_add_test(values, test_init_from);
    tcase_add_test(values, test_files_that_are_no_text);
    tcase_add_test(values, test_shipped_configs);
    suite_add_tcase(suite, values);

    TCase *bad = tcase_create("bad configs");
    int count = scandir(BAD_CONFIGS, &bad_configs, is_lua, alphasort);
    tcase_add_checked_fixture(bad, config_text_open, config_text_close);
    tcase_add_loop_test(bad, test_bad_config, 0, count);
    tcase_add_test(bad, test_many_mistakes);
    tcase_add_test(bad, test_clock_is_put_away);
    suite_add_tcase(suite, bad);
    return suite;
}
