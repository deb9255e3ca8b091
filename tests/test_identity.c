/* What a run is called and what is kept of its config: JSON, hash, sources; and the pages that are
   written from the tables of options. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base.h"
#include "src/sha256.h"
#include "tests/config_text.h"

static const char small[] = "return { task = 'copy', model = { encoding = 'rope' },\n"
                            "  train = { steps = 1000, length = { 8, 16 } } }";

START_TEST(test_json) {
    const Config *c = config_text_load(
        "return { name = 'a', seed = 2, task = { 'copy', alphabet = 10 },\n"
        "  model = { encoding = { 'sinusoidal', base = 500 }, dropout = 0.1, width = 64 },\n"
        "  train = { clip = 1 / 3, learning_rate = 3e-4, stages = {\n"
        "    { steps = 5, length = { from = 8, to = 16 }, repeats = false },\n"
        "    { steps = 7, length = { 32, 64 }, batch = 3 } } },\n"
        "  evaluate = { lengths = { 64, 32 }, every = 4 } }",
        "");
    ck_assert_str_eq(
        c->resolved_json,
        "{\"data_seed\":2,"
        "\"evaluate\":{\"every\":4,\"examples\":64,\"lengths\":[32,64]},"
        "\"init_seed\":2,"
        "\"model\":{\"attention\":{\"kind\":\"softmax\"},\"bias\":false,\"causal\":true,"
        "\"dropout\":0.1,\"encoding\":{\"base\":500,"
        "\"exponent\":\"paper\",\"kind\":\"sinusoidal\",\"layout\":\"interleaved\","
        "\"scale\":0.05,\"token_scale\":1},\"heads\":4,\"init\":\"normal\",\"init_std\":0.05,"
        "\"layers\":2,\"mlp\":4,"
        "\"positions\":{\"kind\":\"plain\"},\"tied\":false,\"width\":64},"
        "\"name\":\"a\",\"seed\":2,"
        "\"task\":{\"alphabet\":10,\"kind\":\"copy\",\"repeats\":true,\"slots\":false},"
        "\"train\":{\"accumulate\":1,\"beta1\":0.9,\"beta2\":0.999,\"checkpoint_every\":200,"
        "\"clip\":0.3333333333333333,\"decay\":\"constant\",\"epsilon\":1e-8,\"final_rate\":0,"
        "\"init_from\":\"\",\"init_sha256\":\"\","
        "\"learning_rate\":0.0003,\"log_every\":10,\"snapshot_every\":0,\"stage_warmup\":20,"
        "\"stages\":[{\"batch\":0,\"length\":{\"from\":8,\"to\":16},\"steps\":5,"
        "\"task\":{\"alphabet\":10,\"repeats\":false,\"slots\":false}},"
        "{\"batch\":3,\"length\":[32,64],\"steps\":7,"
        "\"task\":{\"alphabet\":10,\"repeats\":true,\"slots\":false}}],"
        "\"tokens\":16384,\"warmup\":50,\"weight_decay\":0.01}}");
}
END_TEST

/* ---- and back again, from a result file ------------------------------------------------------ */

static const char *const whole[] = {
    small,
    "return { task = 'copy', model = { positions = { 'randomized', N = 99 }, dropout = 1 / 3 },\n"
    "  train = { learning_rate = 1e-7, decay = 'linear', stages = {\n"
    "    { steps = 5, length = { from = 8, to = 16 }, repeats = false },\n"
    "    { steps = 7, length = { 32, 64 }, batch = 3 } } } }",
};
enum { WHOLE = sizeof whole / sizeof *whole };

START_TEST(test_json_read_again) {
    const Config *c = config_text_load(whole[_i], "seed=5 name=a");
    Config again;
    Mistakes mistakes;
    bool good = config_load_json(c->resolved_json, NULL, "run.h5", 0, NULL, &again, &mistakes);
    ck_assert_msg(good, "%s", mistakes.text);
    ck_assert_str_eq(again.resolved_json, c->resolved_json);
    ck_assert_str_eq(again.id, c->id);
    ck_assert_str_eq(config_text_source(&again, "seed"), "5  run.h5");
    config_free(&again);

    const char *const overrides[] = {"evaluate.lengths=8,24", "train.stages.1.steps=3"};
    good = config_load_json(c->resolved_json, NULL, "run.h5", 2, overrides, &again, &mistakes);
    ck_assert_msg(good, "%s", mistakes.text);
    ck_assert_int_eq(again.evaluate.lengths.values[1], 24);
    ck_assert_int_eq(again.train.stages[0].steps, 3);
    config_free(&again);
}
END_TEST

static const struct {
    const char *json, *mistakes;
} broken[] = {
    {"", "run.h5: no JSON at byte 0: a value expected\n"},
    {"{\"seed\":1", "run.h5: no JSON at byte 9: '}' expected\n"},
    {"{\"seed\" 1}", "run.h5: no JSON at byte 8: ':' expected\n"},
    {"{\"seed", "run.h5: no JSON at byte 6: the end of a text expected\n"},
    {"{} {}", "run.h5: no JSON at byte 3: the end expected\n"},
    {"{seed:1}", "run.h5: no JSON at byte 1: a text expected\n"},
    {"[1,]", "run.h5: no JSON at byte 3: a value expected\n"},
    {"\"\\ud800\\u0041\"", "run.h5: no JSON at byte 13: the second half of a character expected\n"},
    {"\"\\u12g4\"", "run.h5: no JSON at byte 3: four hexadecimal digits expected\n"},
    {"\"\\x\"", "run.h5: no JSON at byte 2: an escape expected\n"},
    {"[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]",
     "run.h5: no JSON at byte 16: fewer brackets expected\n"},
    {"3", "run.h5: the file returns 3; a config is return { ... }\n"},
    {"{\"task\":{\"kind\":\"copy\"},\"model\":[1],\"train\":{\"stages\":[{\"steps\":1,"
     "\"length\":16,\"task\":{\"alphabt\":2}}]}}",
     "run.h5: model.1: 1 stands there without a name\n"
     "run.h5: train.stages.1.alphabt: unknown key; did you mean train.stages.1.alphabet?\n"},
    {"{\"task\":{\"kind\":[]},\"train\":{\"stages\":[{\"task\":3,\"steps\":1,\"length\":16}]}}",
     "run.h5: task: got a table; expected a name, or { name, option = value }\n"},
    {"{\"task\":{\"kind\":\"copy\"},\"name\":\"\\u00e9\\ud83d\\ude00\\t\",\"train\":{\"stages\":"
     "[{\"steps\":1,\"length\":16}]}}",
     "run.h5: name: got \"\303\251\360\237\230\200?\"; expected 1 to 64 of A-Z a-z 0-9 . _ - "
     "with no dot first\n"},
};
enum { BROKEN = sizeof broken / sizeof *broken };

START_TEST(test_broken_json) {
    Config config;
    Mistakes mistakes;
    ck_assert(!config_load_json(broken[_i].json, NULL, "run.h5", 0, NULL, &config, &mistakes));
    ck_assert_str_eq(mistakes.text, broken[_i].mistakes);
    free(mistakes.text);
}
END_TEST

/* ---- the name of a run ------------------------------------------------------------------------
 */

static char *without(const char *text, const char *part) {
    const char *at = strstr(text, part);
    ck_assert_ptr_nonnull(at);
    return format_text("%.*s%s", (int)(at - text), text, at + strlen(part));
}

/* The hash is that of the JSON without the keys that change no result. */
START_TEST(test_hash) {
    static const char *const outside[] = {"\"name\":\"x\",", "\"log_every\":10,",
                                          "\"checkpoint_every\":200,", "\"snapshot_every\":0,",
                                          "\"init_from\":\"\","};
    const Config *c = config_text_load(small, "seed=12");
    char *json = copy_text(c->resolved_json), digits[65];
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        char *shorter = without(json, outside[i]);
        free(json);
        json = shorter;
    }
    ck_assert_str_eq(c->sha256, sha256_text(json, strlen(json), digits));
    char *id = format_text("rope-s12-%.6s", digits);
    ck_assert_str_eq(c->id, id);
    free(id);
    free(json);
}
END_TEST

/* The same run, written in other ways. */
static const char *const same[][2] = {
    {"-- a comment\n\nreturn { train = { length = { 8, 16 }, steps = 1000 },\n"
     "  model = { encoding = 'rope' }, task = 'copy' }",
     ""},
    {"local t = {}\nt.steps, t.length = 1e3, { 8, 2 ^ 4 }\n"
     "return { task = { 'copy', alphabet = 32 }, train = t, model = { encoding = { 'rope' } } }",
     ""},
    {"return { task = 'copy', model = { encoding = 'rope' },\n"
     "  train = { stages = { { steps = 1000, length = { 8, 16 } } } } }",
     ""},
    {small, "name=other train.log_every=7 train.checkpoint_every=0 train.snapshot_every=3"},
    {small, "seed=1 data_seed=1 model.width=128 train.learning_rate=0.001 train.steps=1000"},
    {"return { task = 'copy', train = { steps = 3, length = { 8, 16 } } }",
     "train.steps=1000 model.encoding=rope"},
};
enum { SAME = sizeof same / sizeof *same };

START_TEST(test_same_run) {
    char *hash = copy_text(config_text_load(small, "")->sha256);
    ck_assert_str_eq(config_text_load(same[_i][0], same[_i][1])->sha256, hash);
    free(hash);
}
END_TEST

static const char *const others[] = {
    "seed=2",
    "init_seed=2",
    "data_seed=2",
    "task.alphabet=31",
    "model.width=64",
    "model.bias=true",
    "model.attention=linear",
    "model.encoding.base=9999",
    "model.encoding=nope",
    "model.positions=randomized",
    "train.steps=1001",
    "train.length=16,8",
    "train.length=8..16",
    "train.batch=4",
    "train.tokens=8192",
    "train.learning_rate=0.0010000000000000002",
    "train.decay=cosine",
    "evaluate.lengths=8",
    "evaluate.examples=65",
    "evaluate.every=5",
};
START_TEST(test_direction_makes_another_run) {
    static const char masked_task[] =
        "return { task = 'mlm_grammar', model = { encoding = 'rope' },\n"
        "  train = { steps = 10, length = 16 } }";
    char *hash = copy_text(config_text_load(masked_task, "")->sha256);
    const Config *c = config_text_load(masked_task, "model.causal=false");
    ck_assert(!c->model.causal);
    ck_assert_str_ne(c->sha256, hash);
    free(hash);
}
END_TEST

enum { OTHERS = sizeof others / sizeof *others };

START_TEST(test_other_run) {
    char *hash = copy_text(config_text_load(small, "")->sha256);
    ck_assert_str_ne(config_text_load(small, others[_i])->sha256, hash);
    free(hash);
}
END_TEST

/* A function counts by its values. */
START_TEST(test_tabulated_rate) {
#define RATE(body)                                                                                 \
    "return { task = 'copy', train = { steps = 2, length = 8,\n"                                   \
    "  learning_rate = function(step) " body " end } }"
    /* sha256 of the little-endian doubles 0.5 and 1, by Python's hashlib and struct */
    const Config *c = config_text_load(RATE("return step / 2"), "");
    ck_assert_ptr_nonnull(strstr(
        c->resolved_json, "\"learning_rate\":{\"sha256\":"
                          "\"79eefa853821e579e1cb3a257a43dedb028c59cfcb82bf0cbbd8c398ad268f12\"}"));
    ck_assert_double_eq(c->train.schedule[0], 0.5);
    ck_assert_double_eq(c->train.schedule[1], 1);
    char *hash = copy_text(c->sha256);
    c = config_text_load(RATE("local half = 0.5; return half * step"), "");
    ck_assert_str_eq(c->sha256, hash);
    ck_assert_ptr_nonnull(strstr(config_text_source(c, "train.learning_rate"), "function  "));
    /* It cannot be read again: the default stands in. */
    Config again;
    Mistakes mistakes;
    ck_assert(config_load_json(c->resolved_json, NULL, "run.h5", 0, NULL, &again, &mistakes));
    ck_assert_ptr_null(again.train.schedule);
    ck_assert_double_eq(again.train.learning_rate, 1e-3);
    config_free(&again);
    c = config_text_load(RATE("return step / 4"), "");
    ck_assert_str_ne(c->sha256, hash);
    free(hash);
}
END_TEST

/* A file is named by its bytes: the same path with other bytes is another run, and a result whose
   file has changed is not loaded. */
START_TEST(test_files) {
#define TEXT "return { task = { 'text', file = 'a.txt' }, train = { steps = 1, length = 8 } }"
    /* FIPS 180-4: a million times "a" */
    static const char hash[] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
    char *million = ALLOCATE(1000001, char), *place = format_text("\"sha256\":\"%s\"", hash);
    memset(million, 'a', 1000000);
    config_text_write("a.txt", million);
    const Config *c = config_text_load(TEXT, "");
    ck_assert_ptr_nonnull(strstr(c->resolved_json, place));
    ck_assert_ptr_nonnull(strstr(c->resolved_json, "\"file\":{\"path\":\"a.txt\","));
    const File *file = (const File *)c->task_options.bytes;
    ck_assert(file->size == 1000000 && file->bytes[999999] == 'a');
    ck_assert_ptr_eq(((const File *)c->train.stages[0].task_options.bytes)->bytes, file->bytes);

    Config again;
    Mistakes mistakes;
    char *result = copy_text(config_text_write("run.h5", "")), *json = copy_text(c->resolved_json);
    char *named = copy_text(c->sha256);
    ck_assert(config_load_json(json, NULL, result, 0, NULL, &again, &mistakes));
    ck_assert_str_eq(again.sha256, named);
    config_free(&again);

    million[7] = 'b';
    config_text_write("a.txt", million);
    ck_assert_str_ne(config_text_load(TEXT, "")->sha256, named);
    ck_assert(!config_load_json(json, NULL, result, 0, NULL, &again, &mistakes));
    ck_assert_ptr_nonnull(strstr(mistakes.text, "task.file: a.txt is another file than that of the "
                                                "run: its sha256 is "));
    free(mistakes.text);

    /* A config reads files of the project, the command line any. */
    static const char outside[] = "x.lua:1: task.file: /etc/passwd: lies outside of the project ";
    const char *refusal = config_text_refusal(
        "return { task = { 'text', file = '/etc/passwd' }, train = { steps = 1, length = 8 } }",
        "");
    ck_assert_int_eq(strncmp(refusal, outside, strlen(outside)), 0);
    c = config_text_load(TEXT, "task.file=LICENSE");
    file = (const File *)c->task_options.bytes;
    ck_assert_int_eq(file->path[0], '/');
    ck_assert_str_eq(strrchr(file->path, '/'), "/LICENSE");
    free(million);
    free(place);
    free(result);
    free(json);
    free(named);
#undef TEXT
}
END_TEST

START_TEST(test_sources) {
    config_text_write("base.lua", "return {\n"
                                  "  name = 'base', seed = 2,\n"
                                  "  task = { 'recall', pairs = 4 },\n"
                                  "  model = { width = 64,\n"
                                  "    encoding = 'rope' },\n"
                                  "  train = { stages = {\n"
                                  "    { steps = 800, length = 256, pairs = 8 },\n"
                                  "    { steps = 150, length = 512 } } },\n"
                                  "  evaluate = { lengths = { 256, 512 } } }");
    const Config *c = config_text_load("local config = include 'base.lua'\n"
                                       "config.name = 'x'\n"
                                       "config.model.encoding = { 'learned', positions = 512 }\n"
                                       "return config",
                                       "seed=3 train.stages.2.steps=9");
    static const char *const lines[][2] = {
        {"name", "\"x\"  x.lua:2"},
        {"seed", "3  command line"},
        {"init_seed", "3  default"},
        {"task", "\"recall\"  base.lua:3"},
        {"task.pairs", "4  base.lua:3"},
        {"task.keys", "128  default"},
        {"model.width", "64  base.lua:4"},
        {"model.encoding", "\"learned\"  x.lua:3"},
        {"model.encoding.positions", "512  x.lua:3"},
        {"model.encoding.past_end", "\"error\"  default"},
        {"train.steps", ""},
        {"train.stages.1.steps", "800  base.lua:7"},
        {"train.stages.1.pairs", "8  base.lua:7"},
        {"train.stages.2.steps", "9  command line"},
        {"train.stages.2.length", "512  base.lua:8"},
        {"train.stages.2.pairs", ""},
        {"evaluate.lengths", "{ 256, 512 }  base.lua:9"},
        {"evaluate.examples", "64  default"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        ck_assert_str_eq(config_text_source(c, lines[i][0]), lines[i][1]);
}
END_TEST

/* FIPS 180-4 and NIST's example values. */
START_TEST(test_sha256) {
    static const char *const known[][2] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    char digits[65];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        ck_assert_str_eq(sha256_text(known[i][0], strlen(known[i][0]), digits), known[i][1]);
    size_t million = 1000000;
    char *text = ALLOCATE(million, char);
    memset(text, 'a', million);
    ck_assert_str_eq(sha256_text(text, million, digits),
                     "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(text);
}
END_TEST

/* ---- options ----------------------------------------------------------------------------------
 */

typedef struct {
    bool flag;
    int64_t count;
    double share;
    int layout;
    char text[OPTION_TEXT_SIZE];
    IntegerList list;
    Span span, range;
} Fields;

static const Option table[] = {
    {"flag", OPTION_BOOLEAN, offsetof(Fields, flag), true, NULL, 0, 0, NULL, ""},
    {"count", OPTION_INTEGER, offsetof(Fields, count), 7, NULL, -3, 64, NULL, ""},
    {"share", OPTION_NUMBER, offsetof(Fields, share), 0.1, NULL, 0, HUGE_VAL, NULL, ""},
    {"layout", OPTION_CHOICE, offsetof(Fields, layout), 1, NULL, 0, 0, "half|whole|none", ""},
    {"text", OPTION_STRING, offsetof(Fields, text), 0, "a \"b\" \\", 0, 0, NULL, ""},
    {"list", OPTION_INTEGERS, offsetof(Fields, list), 0, "{ 256, -512 }", -HUGE_VAL, 9, NULL, ""},
    {"span", OPTION_SPAN, offsetof(Fields, span), 0, "128", 1, 512, NULL, ""},
    {"range", OPTION_SPAN, offsetof(Fields, range), 0, "{ from = 64, to = 128 }", 1, 512, NULL, ""},
    {.name = NULL},
};

static const struct {
    const char *name, *value, *allowed;
} option_texts[] = {
    {"flag", "true", "true or false"},
    {"count", "7", "an integer from -3 to 64"},
    {"share", "0.1", "a number of at least 0"},
    {"layout", "\"whole\"", "half, whole or none"},
    {"text", "\"a \\\"b\\\" \\\\\"", "a text of at most 255 bytes"},
    {"list", "{ 256, -512 }", "an integer of at most 9, or a list of them"},
    {"span", "128", "an integer from 1 to 512, a list of them, or { from = a, to = b }"},
    {"range", "{ from = 64, to = 128 }",
     "an integer from 1 to 512, a list of them, or { from = a, to = b }"},
};

START_TEST(test_options) {
    Fields fields;
    memset(&fields, 0xff, sizeof fields);
    option_defaults(table, &fields);
    for (size_t i = 0; i < sizeof option_texts / sizeof *option_texts; i++) {
        const Option *option = option_find(table, option_texts[i].name);
        ck_assert_ptr_nonnull(option);
        char *value = option_format(option, &fields), *allowed = option_allowed(option);
        ck_assert_str_eq(value, option_texts[i].value);
        ck_assert_str_eq(allowed, option_texts[i].allowed);
        free(value);
        free(allowed);
    }
    ck_assert_ptr_null(option_find(table, "coun"));
    ck_assert_ptr_null(option_find(NULL, "count"));
    ck_assert_int_eq(option_choice("half|whole|none", "none"), 2);
    ck_assert_int_eq(option_choice("half|whole|none", "hal"), -1);
    ck_assert_int_eq(option_choice("half|whole|none", ""), -1);
}
END_TEST

/* Every kind fits in its room, and its defaults in their own ranges. */
START_TEST(test_kinds) {
    for (int k = 0; k < CONFIG_KINDS; k++) {
        for (size_t i = 0; i < *config_kinds[k].count; i++) {
            Kind kind = config_kinds[k].kind(i);
            ck_assert_uint_le(kind.options_size, OPTION_STRUCT_SIZE);
            for (const Option *option = kind.options; option && option->name; option++) {
                ck_assert_uint_lt(option->offset, kind.options_size);
                ck_assert_ptr_nonnull(option->doc);
                if (option->type != OPTION_INTEGER && option->type != OPTION_NUMBER) continue;
                ck_assert_double_ge(option->fallback, option->min);
                ck_assert_double_le(option->fallback, option->max);
            }
            /* A stage holds the task's options beside its own. */
            for (const Option *own = stage_options; k == 0 && own->name; own++)
                ck_assert_ptr_null(option_find(kind.options, own->name));
        }
    }
}
END_TEST

/* ---- pages --------------------------------------------------------------------------------------
 */

static char *written(void (*write)(FILE *to)) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    write(to);
    ck_assert_int_eq(fclose(to), 0);
    return text;
}

/* WRITE_DOCS=1 in the environment writes the page instead, after a change of an option. */
START_TEST(test_markdown) {
    static const char path[] = "docs/CONFIG.md";
    char *text = written(config_write_markdown);
    size_t size = strlen(text);
    if (getenv("WRITE_DOCS")) {
        FILE *page = fopen(path, "w");
        ck_assert_ptr_nonnull(page);
        ck_assert_uint_eq(fwrite(text, 1, size, page), size);
        ck_assert_int_eq(fclose(page), 0);
    }
    FILE *page = fopen(path, "r");
    ck_assert_ptr_nonnull(page);
    int line = 1;
    for (size_t i = 0; i <= size; i++) {
        int found = fgetc(page), expected = i < size ? (unsigned char)text[i] : EOF;
        ck_assert_msg(found == expected,
                      "%s:%d is not what the options say; WRITE_DOCS=1 with this "
                      "test writes it again",
                      path, line);
        line += found == '\n';
    }
    fclose(page);
    free(text);
}
END_TEST

static void assert_fields(const char *text, const Option *options) {
    for (const Option *option = options; option && option->name; option++) {
        char *field = format_text("\n---@field %s? ", option->name);
        ck_assert_msg(strstr(text, field) != NULL, "no field %s", option->name);
        free(field);
    }
}

START_TEST(test_annotations) {
    char *text = written(config_write_annotations);
    for (int s = 0; s < CONFIG_SECTIONS; s++) assert_fields(text, config_sections[s].options);
    for (int k = 0; k < CONFIG_KINDS; k++)
        for (size_t i = 0; i < *config_kinds[k].count; i++)
            assert_fields(text, config_kinds[k].kind(i).options);
    assert_fields(text, stage_options);
    ck_assert_ptr_nonnull(strstr(text, "\n---@field decay? \"constant\"|\"cosine\"|\"linear\" "));
    ck_assert_ptr_nonnull(strstr(text, "\n---@field task Harness.Task "));
    ck_assert_ptr_nonnull(strstr(text, "\n---@field encoding? Harness.Encoding "));
    ck_assert_ptr_nonnull(strstr(text, "\n---@class (exact) Harness.Encoding.rope\n"
                                       "---@field [1] \"rope\"\n"));
    free(text);
}
END_TEST

Suite *suite_identity(void);
Suite *suite_identity(void) {
    Suite *suite = suite_create("identity");
    TCase *identity = tcase_create("identity");
    tcase_add_checked_fixture(identity, config_text_open, config_text_close);
    tcase_add_test(identity, test_json);
    tcase_add_loop_test(identity, test_json_read_again, 0, WHOLE);
    tcase_add_loop_test(identity, test_broken_json, 0, BROKEN);
    tcase_add_test(identity, test_hash);
    tcase_add_loop_test(identity, test_same_run, 0, SAME);
    tcase_add_loop_test(identity, test_other_run, 0, OTHERS);
    tcase_add_test(identity, test_direction_makes_another_run);
    tcase_add_test(identity, test_tabulated_rate);
    tcase_add_test(identity, test_files);
    tcase_add_test(identity, test_sources);
    tcase_add_test(identity, test_sha256);
    suite_add_tcase(suite, identity);
    TCase *tables = tcase_create("tables");
    tcase_add_test(tables, test_options);
    tcase_add_test(tables, test_kinds);
    tcase_add_test(tables, test_markdown);
    tcase_add_test(tables, test_annotations);
    suite_add_tcase(suite, tables);
    return suite;
}
