/* Functions in a config: tables of numbers for encodings and positions, examples for a task. They
   are compared with what is built in: a bias that is ALiBi's, frequencies that are rope's, a task
   that is copy. */
#include "src/examples.h"
#include "src/train.h"
#include "tests/config_text.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define MODEL(task, model, lengths)                                                                \
    "return { task = " task ",\n"                                                                  \
    "  model = { layers = 2, width = 32, heads = 4, " model " },\n"                                \
    "  train = { steps = 3, tokens = 64, length = " lengths " },\n"                                \
    "  evaluate = { lengths = { 8, 48 }, examples = 4 } }"

/* The logits of an untrained model on 48 tokens. */
static real *logits_of(const char *text) {
    enum { LENGTH = 48 };
    const Config *config = config_text_load(text, "");
    const ModelShape shape = train_shape(config);
    ck_assert(config->task->vocabulary(&config->task_options) >= 8);
    Model *model = model_create(&shape, config->init_seed);
    ck_assert_ptr_null(model_defined(model, LENGTH));
    Engine *engine = engine_create(model);
    int32_t tokens[LENGTH];
    for (int t = 0; t < LENGTH; t++) tokens[t] = t * t % 7;
    real *logits = ALLOCATE((size_t)LENGTH * (size_t)shape.vocabulary, real);
    engine_forward(engine, &(Batch){.items = 1, .length = LENGTH, .tokens = tokens},
                   &(ModelOutput){.logits = logits});
    for (int i = 0; i < LENGTH * shape.vocabulary; i++) ck_assert(isfinite(logits[i]));
    engine_free(engine);
    model_free(model);
    return logits;
}

static const struct {
    const char *what, *left, *right;
    bool same;
} pairs[] = {
    {"a bias that is ALiBi's",
     MODEL("'copy'",
           "encoding = { 'custom', bias = function(head, distance) return -distance * 2 ^ (-8 * "
           "head / 4) end }",
           "16"),
     MODEL("'copy'", "encoding = 'alibi'", "16"), true},
    {"and looks both ways",
     MODEL("'mlm_grammar'",
           "causal = false, encoding = { 'custom', bias = function(head, distance) return "
           "-math.abs(distance) / 4 ^ head end }",
           "16"),
     MODEL("'mlm_grammar'", "causal = false, encoding = 'alibi'", "16"), true},
    {"and one that is not",
     MODEL("'copy'",
           "encoding = { 'custom', bias = function(head, distance) return -distance / 3 ^ head end "
           "}",
           "16"),
     MODEL("'copy'", "encoding = 'alibi'", "16"), false},
    {"frequencies that are rope's",
     MODEL("'copy'",
           "encoding = { 'rope', frequency = function(pair, width) return 10000 ^ (-2 * pair / "
           "width) end }",
           "16"),
     MODEL("'copy'", "encoding = 'rope'", "16"), true},
    {"of half of the channels, scaled",
     MODEL("'copy'",
           "encoding = { 'rope', fraction = 0.5, scaling = 'linear', factor = 3, frequency = "
           "function(pair, width) return 10000 ^ (-2 * pair / width) end }",
           "16"),
     MODEL("'copy'", "encoding = { 'rope', fraction = 0.5, scaling = 'linear', factor = 3 }", "16"),
     true},
    {"a frequency for all pairs",
     MODEL("'copy'", "encoding = { 'rope', frequency = function(pair) return 1 end }", "16"),
     MODEL("'copy'", "encoding = 'rope'", "16"), false},
    {"positions of tokens that are their own",
     MODEL("'copy'",
           "encoding = 't5', positions = { 'custom', position = function(index) return index end "
           "}",
           "16"),
     MODEL("'copy'", "encoding = 't5'", "16"), true},
    {"positions that are interpolated (Chen et al. 2023)",
     MODEL("'copy'",
           "encoding = 'rope', positions = { 'custom', position = function(index) return index / 4 "
           "end }",
           "16"),
     MODEL("'copy'", "encoding = { 'rope', scaling = 'linear', factor = 4 }", "16"), true},
    {"the same, by a function of the length",
     MODEL("'copy'",
           "encoding = 'rope', positions = { 'custom', position = function(index, length) return "
           "index * 12 / length end }",
           "16"),
     MODEL("'copy'", "encoding = { 'rope', scaling = 'linear', factor = 4 }", "16"), true},
    {"clipped positions, beside a bias",
     MODEL("'copy'",
           "encoding = 'alibi', positions = { 'custom', position = function(index) return "
           "math.min(index, 5) end }",
           "16"),
     MODEL("'copy'", "encoding = 'alibi'", "16"), false},
};

START_TEST(like_what_is_built_in) {
    real *left = logits_of(pairs[_i].left), *right = logits_of(pairs[_i].right);
    const bool same = !memcmp(left, right, 48 * 8 * sizeof(real));
    ck_assert_msg(same == pairs[_i].same, "%s", pairs[_i].what);
    free(left);
    free(right);
}
END_TEST

/* ---- tables --------------------------------------------------------------------------------- */

static real bias_at(const EncodingShape *shape, int head, size_t length, double distance) {
    real out;
    encoding_find("custom")->bias(&(Site){.shape = shape, .head = head, .length = length}, 1,
                                  &distance, &out);
    return out;
}

/* A table a length, of every length that occurs; and what is said of other lengths. */
START_TEST(a_function_of_the_length) {
    const Config *config = config_text_load(
        MODEL("'copy'",
              "encoding = { 'custom', bias = function(head, distance, length) return 1000 * head + "
              "distance + length / 128 end }",
              "{ from = 16, to = 20 }"),
        "evaluate.lengths=8,18,48");
    const Encoding *custom = encoding_find("custom");
    const EncodingShape shape = {.heads = 4, .causal = true,
                                 .options = &config->model.encoding_options};
    static const size_t lengths[] = {8, 16, 17, 18, 19, 20, 48};
    for (size_t l = 0; l < COUNT(lengths); l++)
        for (int head = 0; head < 4; head++)
            for (size_t distance = 0; distance < lengths[l]; distance++) {
                const double wanted = 1000 * (head + 1) + (double)distance +
                                      (double)lengths[l] / 128; /* exact in float */
                ck_assert(bias_at(&shape, head, lengths[l], (double)distance) == (real)wanted);
            }
    ck_assert(isnan(bias_at(&shape, 0, 18, 18)));
    ck_assert(isnan(bias_at(&shape, 0, 18, -1)));
    ck_assert(isnan(bias_at(&shape, 0, 21, 0)));
    ck_assert_ptr_null(custom->defined(&shape, 18, 17));
    ck_assert_str_eq(custom->defined(&shape, 21, 20),
                     "the bias is tabulated for the lengths of the config, and 21 is none of them; "
                     "evaluate.lengths=21 adds it");
}
END_TEST

/* One table, as far as the positions reach. */
START_TEST(a_function_of_the_distance) {
    const Config *config = config_text_load(
        MODEL("'copy'",
              "positions = { 'randomized', N = 100 }, encoding = { 'custom', bias = function(head, "
              "distance) return distance end }",
              "16"),
        "");
    const Encoding *custom = encoding_find("custom");
    const EncodingShape shape = {.heads = 4, .causal = true,
                                 .options = &config->model.encoding_options};
    ck_assert(bias_at(&shape, 3, 5, 99) == 99);
    ck_assert(isnan(bias_at(&shape, 3, 5, 100)));
    ck_assert_ptr_null(custom->defined(&shape, 64, 99));
    ck_assert_str_eq(custom->defined(&shape, 128, 127),
                     "the bias is tabulated up to distance 99, length 128 needs 127; "
                     "evaluate.lengths=128 adds it");
}
END_TEST

START_TEST(positions_of_other_lengths) {
    const PositionSource *custom = position_source_find("custom");
    const Config *config = config_text_load(
        MODEL("'copy'",
              "positions = { 'custom', position = function(index, length) return index // 2 + "
              "length end }",
              "16"),
        "");
    const void *options = &config->model.position_options;
    double positions[8];
    custom->draw(options, NULL, 8, positions);
    static const double wanted[8] = {8, 8, 9, 9, 10, 10, 11, 11};
    ck_assert(!memcmp(positions, wanted, sizeof wanted));
    ck_assert_double_eq(custom->largest(options, 48), 48 + 23);
    ck_assert_ptr_null(custom->refuse(options, 16));
    ck_assert_str_eq(custom->refuse(options, 15),
                     "custom positions are tabulated for the lengths of the config; "
                     "evaluate.lengths=15 adds this one");
}
END_TEST

/* The gradients of a learned bias are those that the same positions give when a batch brings them:
   whole with gaps, fractional, and more than plain ones would need room for. */
static const struct {
    const char *position;
    double factor;
} steps[] = {{"3 * index", 3}, {"index / 4", 0.25}};

START_TEST(gradients_at_positions_of_the_config) {
    enum { LENGTH = 48, ITEMS = 2 };
    char *text = format_text(MODEL("'copy'",
                                   "encoding = 'kerple', positions = { 'custom', position = "
                                   "function(index) return %s end }",
                                   "48"),
                             steps[_i].position);
    const Config *config = config_text_load(text, "");
    free(text);
    ModelShape shape = train_shape(config);
    int32_t tokens[ITEMS * LENGTH];
    uint8_t scored[ITEMS * LENGTH];
    double positions[ITEMS * LENGTH];
    for (int t = 0; t < ITEMS * LENGTH; t++) {
        tokens[t] = t * t % 7;
        scored[t] = 1;
        positions[t] = steps[_i].factor * (t % LENGTH);
    }
    real *gradients[2];
    for (int given = 0; given < 2; given++) {
        if (given) shape.positions = position_source_find("plain");
        Model *model = model_create(&shape, 1);
        Engine *engine = engine_create(model);
        engine_reserve(engine, ITEMS, LENGTH, true);
        gradients[given] = ALLOCATE(model->count, real);
        const Batch batch = {.items = ITEMS, .length = LENGTH, .tokens = tokens, .targets = tokens,
                             .scored = scored, .positions = given ? positions : NULL};
        real loss[ITEMS * LENGTH];
        int32_t answer[ITEMS * LENGTH];
        engine_gradient(engine, &batch, 0.01, false, gradients[given],
                        &(ModelOutput){.loss = loss, .answer = answer});
        double norm = 0;
        for (size_t i = 0; i < model->count; i++) {
            if (given)
                ck_assert_double_lt(fabs((double)(gradients[1][i] - gradients[0][i])), 1e-6);
            norm += (double)gradients[given][i] * (double)gradients[given][i];
        }
        ck_assert_double_gt(norm, 1e-4);
        engine_free(engine);
        model_free(model);
    }
    free(gradients[0]);
    free(gradients[1]);
}
END_TEST

/* ---- a task --------------------------------------------------------------------------------- */

/* copy, written in Lua with the same draws in the same order. */
#define COPY                                                                                       \
    "{ 'custom', vocabulary = 11, generate = function(rng, length)\n"                              \
    "  local n, tokens, targets, scored, distance = (length - 2) // 2, {}, {}, {}, {}\n"           \
    "  tokens[1], tokens[n + 2], tokens[2 * n + 3] = 0, 1, 2\n"                                    \
    "  for i = 1, n do tokens[1 + i] = 3 + rng:below(8); tokens[n + 2 + i] = tokens[1 + i] end\n"  \
    "  for t = 1, length do\n"                                                                     \
    "    scored[t] = t >= n + 2 and t <= 2 * n + 2\n"                                              \
    "    distance[t] = scored[t] and n or 0\n"                                                     \
    "    targets[t] = t <= 2 * n + 2 and tokens[t + 1] or 0\n"                                     \
    "  end\n"                                                                                      \
    "  if length % 2 == 0 then tokens[length + 1] = nil end\n"                                     \
    "  return tokens, targets, scored, distance end }"

START_TEST(a_task_that_is_copy) {
    enum { ITEMS = 5, LONGEST = 48 };
    static const size_t lengths[] = {8, 16, 17, LONGEST};
    Examples own = examples_new(ITEMS * LONGEST), copy = examples_new(ITEMS * LONGEST);
    for (size_t l = 0; l < COUNT(lengths); l++) {
        const Config *c = config_text_load(MODEL(COPY, "", "16"), "");
        ck_assert_ptr_null(examples_fill(c->task, &c->task_options, 7, RNG_TEST, 4, 2, ITEMS,
                                         lengths[l], &own));
        c = config_text_load(MODEL("{ 'copy', alphabet = 8 }", "", "16"), "");
        ck_assert_ptr_null(examples_fill(c->task, &c->task_options, 7, RNG_TEST, 4, 2, ITEMS,
                                         lengths[l], &copy));
        const size_t count = ITEMS * lengths[l];
        ck_assert(!memcmp(own.tokens, copy.tokens, count * sizeof(int32_t)));
        ck_assert(!memcmp(own.targets, copy.targets, count * sizeof(int32_t)));
        ck_assert(!memcmp(own.distance, copy.distance, count * sizeof(int32_t)));
        ck_assert(!memcmp(own.scored, copy.scored, count));
    }
    examples_free(&own);
    examples_free(&copy);
}
END_TEST

START_TEST(random_numbers_are_those_of_the_stream) {
    const Config *c = config_text_load(
        MODEL("{ 'custom', vocabulary = 1000, generate = function(rng, length)\n"
              "  local tokens, scored = {}, {}\n"
              "  for t = 1, length do tokens[t] = math.floor(1000 * rng:uniform())\n"
              "    scored[t] = t % 2 end\n"
              "  return tokens, tokens, scored end }",
              "", "16"),
        "");
    Examples batch = examples_new(16);
    ck_assert_ptr_null(
        examples_fill(c->task, &c->task_options, 9, RNG_TEST, 3, 5, 1, 16, &batch));
    Rng rng = rng_stream(9, RNG_TEST, 3, 5);
    for (int t = 0; t < 16; t++) {
        ck_assert_int_eq(batch.tokens[t], (int)floor(1000 * rng_uniform(&rng)));
        ck_assert_int_eq(batch.scored[t], t % 2 == 0);
        ck_assert_int_eq(batch.distance[t], 0);
    }
    examples_free(&batch);
}
END_TEST

/* A function that fails when a certain number is drawn: when the config is loaded it works. */
static const struct {
    const char *what, *fault;
} faults[] = {
    {"x.lua:3: task.generate: length 16: seven", "error('seven')"},
    {"x.lua:3: task.generate: length 16: it takes longer than 1 s", "while true do end"},
    {"x.lua: task.generate: length 16: needs more than 64 MiB of memory",
     "for i = 1, math.huge do tokens[i] = {} end"},
    {"x.lua:1: task.generate: length 16: tokens[1] is -1; expected an integer from 0 to 299",
     "tokens[1] = -1"},
};

/* A number below 300 that no example draws first before the third step, nor the evaluation; and the
   example that does. */
static int late_number(int64_t *step, uint64_t *item) {
    enum { ITEMS = 10 };
    for (uint64_t number = 0; number < 300; number++) {
        *step = 1, *item = 0;
        for (bool found = false; !found;) {
            Rng rng = rng_stream(1, RNG_TRAIN, (uint64_t)*step, *item);
            found = rng_below(&rng, 300) == number;
            if (!found && ++*item == ITEMS) *item = 0, ++*step;
        }
        Rng rng = rng_stream(1, RNG_EVALUATE, 1, 0);
        if (*step >= 3 && rng_below(&rng, 300) != number) return (int)number;
    }
    ck_abort_msg("no such number");
}

START_TEST(a_fault_in_the_middle_of_a_run) {
    int64_t step;
    uint64_t item;
    const int number = late_number(&step, &item);
    char *text = format_text("return { task = { 'custom', vocabulary = 300, generate = function("
                             "rng, length)\n  local tokens = {}\n  if rng:below(300) == %d then %s "
                             "end\n"
                             "  for t = 1, length do tokens[t] = tokens[t] or 0 end\n"
                             "  local scored = { true }\n"
                             "  for t = 2, length do scored[t] = false end\n"
                             "  return tokens, tokens, scored end },\n"
                             "  model = { layers = 1, width = 8, heads = 1 },\n"
                             "  train = { steps = 100000, batch = 10, length = 16 } }",
                             number, faults[_i].fault);
    const Config *config = config_text_load(text, "");
    free(text);
    Trainer *trainer = train_create(config);
    for (int64_t s = 1; s < step; s++) ck_assert_ptr_null(train_step(trainer));
    const double start = seconds_now();
    const char *reason = train_step(trainer);
    ck_assert_double_lt(seconds_now() - start, 8); /* of a machine that others use too */
    ck_assert_ptr_nonnull(reason);
    char *begin = format_text("step %lld, item %llu: ", (long long)step, (unsigned long long)item);
    ck_assert_msg(!strncmp(reason, begin, strlen(begin)), "%s", reason);
    const size_t end = strlen(faults[_i].what), length = strlen(reason);
    ck_assert_msg(length > end && !strcmp(reason + length - end, faults[_i].what), "%s", reason);
    free(begin);
    train_free(trainer);
}
END_TEST

/* ---- identity ------------------------------------------------------------------------------- */

static char *id_of(const char *text) {
    return copy_text(config_text_load(text, "")->sha256);
}

static const struct {
    const char *what, *left, *right;
    bool same;
} identities[] = {
    {"a bias counts by its values",
     MODEL("'copy'", "encoding = { 'custom', bias = function(h, d) return h * d / 2 end }", "16"),
     MODEL("'copy'",
           "encoding = { 'custom', bias = function(head, distance) local half = distance / 2; "
           "return half * head end }",
           "16"),
     true},
    {"every one of them",
     MODEL("'copy'", "encoding = { 'custom', bias = function(h, d) return 0 end }", "16"),
     MODEL("'copy'",
           "encoding = { 'custom', bias = function(h, d) return d == 47 and h == 4 and 1 or 0 "
           "end }",
           "16"),
     false},
    {"positions do too",
     MODEL("'copy'", "positions = { 'custom', position = function(i) return i end }", "16"),
     MODEL("'copy'", "positions = { 'custom', position = function(i) return 2 * i end }", "16"),
     false},
    {"a task by its text", MODEL(COPY, "", "16"), MODEL(COPY, "", "16"), true},
    {"not by what stands around it", MODEL(COPY, "", "16"), "-- a comment\n" MODEL(COPY, "", "16"),
     true},
    {"by what it refers to", "local n = { 1, { 2, 3 } }\n" MODEL("{ 'custom', generate = function("
                             "r, l) local t = {}\n"
                             "for i = 1, l do t[i] = n[2][1] > 9 and 0 or 1 end\n"
                             "return t, t, t end }", "", "16"),
     "local n = { 1, { 2, 4 } }\n" MODEL("{ 'custom', generate = function("
                             "r, l) local t = {}\n"
                             "for i = 1, l do t[i] = n[2][1] > 9 and 0 or 1 end\n"
                             "return t, t, t end }", "", "16"),
     false},
    {"by which of two in one line it is",
     "local n = 1\n" MODEL("{ 'custom', generate = ({ function(r, l) local t = {} for i = 1, l do "
                           "t[i] = 1 end return t, t, t end, function(r, l) local t = {} for i = 1,"
                           " l do t[i] = i == 1 and 1 or 0 end return t, t, t end })[n] }",
                           "", "16"),
     "local n = 2\n" MODEL("{ 'custom', generate = ({ function(r, l) local t = {} for i = 1, l do "
                           "t[i] = 1 end return t, t, t end, function(r, l) local t = {} for i = 1,"
                           " l do t[i] = i == 1 and 1 or 0 end return t, t, t end })[n] }",
                           "", "16"),
     false},
};

START_TEST(identity) {
    char *left = id_of(identities[_i].left), *right = id_of(identities[_i].right);
    ck_assert_msg(!strcmp(left, right) == identities[_i].same, "%s", identities[_i].what);
    free(left);
    free(right);
}
END_TEST

/* A study compares the seeds of one task: the function is the same for all of them. */
START_TEST(one_task_for_all_seeds) {
    char *parts[2];
    for (int seed = 0; seed < 2; seed++) {
        const char *json =
            config_text_load(MODEL(COPY, "", "16"), seed ? "seed=2" : "seed=1")->resolved_json;
        const char *from = strstr(json, "\"task\":"), *to = strstr(json, "\"train\":");
        ck_assert(from && to > from && strstr(from, "sha256"));
        parts[seed] = format_text("%.*s", (int)(to - from), from);
    }
    ck_assert_str_eq(parts[0], parts[1]);
    free(parts[0]);
    free(parts[1]);
}
END_TEST

/* ---- from a result file --------------------------------------------------------------------- */

#define EVERYTHING                                                                                 \
    "local make = include 'parts/bias.lua'\n" MODEL(                                               \
        COPY,                                                                                      \
        "positions = { 'custom', position = function(i) return i // 1 end },\n"                    \
        "encoding = { 'custom', bias = make(4) }",                                                 \
        "16, stages = nil")

START_TEST(read_again) {
    config_text_write("parts/slope.lua", "return 0.5");
    config_text_write("parts/bias.lua",
                      "local slope = include '../parts/slope.lua'\n"
                      "return function(heads) return function(h, d, l)\n"
                      "  return -slope * d * h / heads + l end end\n");
    const Config *c = config_text_load(EVERYTHING, "");
    Config again;
    Mistakes mistakes;
    ck_assert_msg(
        config_load_json(c->resolved_json, c->lua, "run.h5", 0, NULL, &again, &mistakes), "%s",
        mistakes.text);
    ck_assert_str_eq(again.resolved_json, c->resolved_json);
    ck_assert_str_eq(again.sha256, c->sha256);
    ck_assert_str_eq(again.lua, c->lua);
    config_free(&again);

    /* other lengths have tables of their own */
    const char *const longer[] = {"evaluate.lengths=100"};
    ck_assert_msg(
        config_load_json(c->resolved_json, c->lua, "run.h5", 1, longer, &again, &mistakes), "%s",
        mistakes.text);
    const EncodingShape shape = {.heads = 4, .causal = true,
                                 .options = &again.model.encoding_options};
    ck_assert(bias_at(&shape, 1, 100, 99) == (real)(-0.5 * 99 * 2 / 4 + 100));
    config_free(&again);

    /* another text, or none */
    char *other = copy_text(c->lua);
    *strstr(other, "return 0.5") = ' ';
    memcpy(strstr(other, "eturn 0.5"), "return 02", 9);
    ck_assert(!config_load_json(c->resolved_json, other, "run.h5", 0, NULL, &again, &mistakes));
    ck_assert_msg(strstr(mistakes.text, "model.encoding.bias: the function does not do what it did "
                                        "when the file was made"),
                  "%s", mistakes.text);
    free(other);
    free(mistakes.text);
    ck_assert(!config_load_json(c->resolved_json, NULL, "run.h5", 0, NULL, &again, &mistakes));
    ck_assert_msg(strstr(mistakes.text, "run.h5: model.encoding.bias: missing; expected function("
                                        "head, distance, length)"),
                  "%s", mistakes.text);
    free(mistakes.text);
}
END_TEST

/* Every stage may have its own task function; what a result says of them is found again. */
START_TEST(stages_read_again) {
    static const char text[] =
        "local function constant(n) return function(rng, length) local t, s = {}, {}\n"
        "  for i = 1, length do t[i], s[i] = n, 1 end return t, t, s end end\n"
        "return { task = { 'custom', generate = constant(5) }, train = { stages = {\n"
        "  { steps = 2, length = 8, generate = constant(6) }, { steps = 2, length = 9 } } } }";
    const Config *c = config_text_load(text, "");
    Config again;
    Mistakes mistakes;
    ck_assert_msg(
        config_load_json(c->resolved_json, c->lua, "run.h5", 0, NULL, &again, &mistakes), "%s",
        mistakes.text);
    ck_assert_str_eq(again.resolved_json, c->resolved_json);
    Examples batch = examples_new(9);
    for (int s = 0; s < 2; s++) {
        ck_assert_ptr_null(examples_fill(again.task, &again.train.stages[s].task_options, 1,
                                         RNG_TEST, 0, 0, 1, 9, &batch));
        ck_assert_int_eq(batch.tokens[8], s ? 5 : 6);
    }
    examples_free(&batch);
    config_free(&again);
}
END_TEST

Suite *suite_functions(void);
Suite *suite_functions(void) {
    Suite *suite = suite_create("functions");
    TCase *numbers = tcase_create("numbers");
    tcase_add_checked_fixture(numbers, config_text_open, config_text_close);
    tcase_add_loop_test(numbers, like_what_is_built_in, 0, COUNT(pairs));
    tcase_add_test(numbers, a_function_of_the_length);
    tcase_add_test(numbers, a_function_of_the_distance);
    tcase_add_test(numbers, positions_of_other_lengths);
    tcase_add_loop_test(numbers, gradients_at_positions_of_the_config, 0, COUNT(steps));
    suite_add_tcase(suite, numbers);

    TCase *task = tcase_create("task");
    tcase_set_timeout(task, 60);
    tcase_add_checked_fixture(task, config_text_open, config_text_close);
    tcase_add_test(task, a_task_that_is_copy);
    tcase_add_test(task, random_numbers_are_those_of_the_stream);
    tcase_add_loop_test(task, a_fault_in_the_middle_of_a_run, 0, COUNT(faults));
    suite_add_tcase(suite, task);

    TCase *record = tcase_create("record");
    tcase_add_checked_fixture(record, config_text_open, config_text_close);
    tcase_add_loop_test(record, identity, 0, COUNT(identities));
    tcase_add_test(record, one_task_for_all_seeds);
    tcase_add_test(record, read_again);
    tcase_add_test(record, stages_read_again);
    suite_add_tcase(suite, record);
    return suite;
}
