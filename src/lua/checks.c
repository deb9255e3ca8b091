/* What follows from several keys, and what several keys make impossible together. A check is left
   out where one of its keys has a mistake already. */
#include <errno.h>
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/json.h"
#include "src/lua/reader.h"
#include "src/sha256.h"

enum { SCHEDULE_STEPS = 1000000, NAME_SIZE = 64 };
#define BATCH_TOKENS 2147483647 /* rows of a matrix product are counted in 32 bits */

static bool given(Reader *reader, const char *key) {
    char place[KEY_SIZE];
    return reader_given(reader, key, place) != NULL;
}

/* The key of a stage's option: train.length of a config without stages. */
static const char *stage_key(Reader *reader, int stage, const char *name, char key[KEY_SIZE]) {
    if (given(reader, "train.stages"))
        snprintf(key, KEY_SIZE, "train.stages.%d.%s", stage + 1, name);
    else
        snprintf(key, KEY_SIZE, "train.%s", name);
    return key;
}

/* Which of two keys to blame: what the command line set, or else what the file says. */
static const char *blame(Reader *reader, const char *first, const char *second) {
    if (reader_override(reader, first)) return first;
    if (reader_override(reader, second)) return second;
    return given(reader, first) ? first : second;
}

/* ---- what follows ---------------------------------------------------------------------- */

static void complete_name(Reader *reader) {
    Config *config = reader->config;
    if (given(reader, "name")) return;
    const char *path = reader->sources->list[0].path, *slash = strrchr(path, '/');
    snprintf(config->name, sizeof config->name, "%s", slash ? slash + 1 : path);
    char *end = strrchr(config->name, '.');
    if (end && !strcmp(end, ".lua")) *end = 0;
}

static void missing(Reader *reader, const char *key, const Option *option) {
    char *allowed = option_allowed(option);
    reader_mistake(reader, key, "missing; expected %s", allowed);
    free(allowed);
}

static void complete_stages(Reader *reader) {
    Config *config = reader->config;
    Stage *stages = config->train.stages;
    if (given(reader, "train.stages")) {
        static const char *const keys[] = {"train.steps", "train.length"};
        for (int i = 0; i < 2; i++)
            if (given(reader, keys[i]))
                reader_mistake(reader, keys[i], "has no meaning beside train.stages, which say it");
    } else {
        config->train.stage_count = 1;
        stages[0] = (Stage){.steps = config->train.steps,
                            .length = config->train.length,
                            .batch = config->train.batch,
                            .task_options = config->task_options};
    }
    for (int s = 0; s < config->train.stage_count; s++) {
        char key[KEY_SIZE];
        if (!stages[s].steps && !reader_wrong(reader, stage_key(reader, s, "steps", key)))
            missing(reader, key, option_find(stage_options, "steps"));
        if (!stages[s].length.list.count &&
            !reader_wrong(reader, stage_key(reader, s, "length", key)))
            missing(reader, key, option_find(stage_options, "length"));
        if (stages[s].batch < 0) stages[s].batch = config->train.batch;
        config->train.total_steps += stages[s].steps;
    }
}

static int compare_integers(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static void complete_lengths(Reader *reader) {
    IntegerList *lengths = &reader->config->evaluate.lengths;
    if (!given(reader, "evaluate.lengths")) {
        lengths->count = 1;
        lengths->values[0] = (int64_t)config_longest(reader->config);
    }
    qsort(lengths->values, (size_t)lengths->count, sizeof *lengths->values, compare_integers);
    for (int i = 1; i < lengths->count; i++)
        if (lengths->values[i] == lengths->values[i - 1])
            reader_mistake(reader, "evaluate.lengths", "%lld is there twice",
                           (long long)lengths->values[i]);
}

/* The value of the function at a step; false after a mistake. */
static bool call_schedule(Reader *reader, int64_t step, const Option *option, double *rate) {
    lua_State *L = reader->L;
    lua_rawgeti(L, LUA_REGISTRYINDEX, reader->schedule);
    lua_pushinteger(L, step);
    int status = sandbox_call(L, 1, 1);
    if (status != LUA_OK) {
        char about[96];
        snprintf(about, sizeof about, "train.learning_rate: at step %lld: ", (long long)step);
        sandbox_report(reader->sandbox, status, about, &reader->mistakes);
        return false;
    }
    *rate = lua_tonumber(L, -1);
    bool fits = lua_type(L, -1) == LUA_TNUMBER && *rate >= option->min && *rate <= option->max;
    if (!fits) {
        char *value = reader_value_text(L), low[32], high[32];
        reader_mistake(reader, "train.learning_rate",
                       "at step %lld the function gives %s; expected a number from %s to %s",
                       (long long)step, value, json_number_text(option->min, low),
                       json_number_text(option->max, high));
        free(value);
    }
    lua_pop(L, 1);
    return fits;
}

static void complete_schedule(Reader *reader, const Option *option) {
    Config *config = reader->config;
    int64_t total = config->train.total_steps;
    if (reader->schedule == LUA_NOREF || reader_wrong(reader, "train.steps") ||
        reader_wrong(reader, "train.stages"))
        return;
    if (total > SCHEDULE_STEPS) {
        reader_mistake(reader, "train.learning_rate",
                       "a function is tabulated for at most %d steps; the run has %lld",
                       SCHEDULE_STEPS, (long long)total);
        return;
    }
    config->train.schedule = ALLOCATE((size_t)total, double);
    for (int64_t step = 1; step <= total; step++)
        if (!call_schedule(reader, step, option, &config->train.schedule[step - 1])) return;
}

void checks_complete(Reader *reader) {
    Config *config = reader->config;
    complete_name(reader);
    files_read(reader);
    if (config->init_seed < 0) config->init_seed = config->seed;
    if (config->data_seed < 0) config->data_seed = config->seed;
    complete_stages(reader);
    complete_lengths(reader);
    for (int s = 0; s < CONFIG_SECTIONS; s++) {
        const Option *option = option_find(config_sections[s].options, "learning_rate");
        if (option) complete_schedule(reader, option);
    }
}

/* ---- what is impossible ---------------------------------------------------------------- */

static void check_name(Reader *reader) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    const char *name = reader->config->name;
    size_t length = strlen(name);
    if (reader_wrong(reader, "name")) return;
    if (*name == '.' || !length || length > NAME_SIZE || strspn(name, letters) != length)
        reader_mistake(reader, "name",
                       "got \"%s\"%s; expected 1 to %d of A-Z a-z 0-9 . _ - with no dot first",
                       name, given(reader, "name") ? "" : " from the file's name", NAME_SIZE);
}

static EncodingShape shape_of(const Config *config) {
    int head_width = (int)(config->model.width / config->model.heads);
    return (EncodingShape){.layers = (int)config->model.layers,
                           .heads = (int)config->model.heads,
                           .width = (int)config->model.width,
                           .head_width = head_width,
                           .qk_width = head_width,
                           .causal = config->model.causal,
                           .trained_length = config_longest(config),
                           .options = &config->model.encoding_options};
}

/* Whether heads fit. */
static bool check_heads(Reader *reader) {
    const Config *config = reader->config;
    long long width = config->model.width, heads = config->model.heads;
    if (reader_wrong(reader, "model.width") || reader_wrong(reader, "model.heads")) return false;
    if (width % heads == 0) return true;
    reader_mistake(reader, blame(reader, "model.heads", "model.width"),
                   "width = %lld is not a multiple of heads = %lld", width, heads);
    return false;
}

/* The encoding's reason starts with the option that it speaks of. */
static void check_encoding(Reader *reader) {
    const Config *config = reader->config;
    const Encoding *encoding = config->model.encoding;
    EncodingShape shape = shape_of(config);
    if (encoding->needs_even_head_width && shape.head_width % 2)
        reader_mistake(reader, blame(reader, "model.heads", "model.width"),
                       "%s needs an even head width, width / heads = %d", encoding->name,
                       shape.head_width);
    if (encoding->needs_causal && !shape.causal)
        reader_mistake(reader, blame(reader, "model.causal", "model.encoding"),
                       "%s needs a causal model: it %s", encoding->name, encoding->needs_causal);
    if (encoding->needs_whole_positions && config->model.positions->fractional)
        reader_mistake(reader, blame(reader, "model.positions", "model.encoding"),
                       "%s are no whole numbers, and %s needs whole positions",
                       config->model.positions->name, encoding->name);
    const char *reason = config_linear(config) ? linear_refuse(encoding) : NULL;
    if (reason)
        reader_mistake(reader, blame(reader, "model.attention", "model.encoding"), "%s", reason);
    reason = encoding->refuse ? encoding->refuse(&shape) : NULL;
    if (!reason) return;
    char name[64], key[KEY_SIZE] = "model.encoding", option[KEY_SIZE];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(reason, " "), reason);
    if (given(reader, reader_join(option, key, name))) strcpy(key, option);
    reader_mistake(reader, key, "%s", reason);
}

/* A model that looks both ways must not read the answers, in no stage. */
static void check_masked(Reader *reader) {
    const Config *config = reader->config;
    const Task *task = config->task;
    if (config->model.causal) return;
    bool masked = task->masked && task->masked(&config->task_options);
    for (int s = 0; masked && s < config->train.stage_count; s++)
        masked = task->masked(&config->train.stages[s].task_options);
    if (masked) return;
    reader_mistake(reader, blame(reader, "model.causal", "task"),
                   "false, but the answers of %s stand in the tokens that a bidirectional model "
                   "reads",
                   task->name);
}

/* A length that is trained at: by the task, the source of positions, the encoding. */
static void check_length(Reader *reader, int s, int64_t length, bool shape_is_known) {
    const Config *config = reader->config;
    const Stage *stage = &config->train.stages[s];
    char key[KEY_SIZE];
    stage_key(reader, s, "length", key);
    const char *reason = config->task->refuse(&stage->task_options, (size_t)length);
    if (reason)
        reader_mistake(reader, key, "%s at length %lld: %s", config->task->name, (long long)length,
                       reason);

    const PositionSource *positions = config->model.positions;
    const void *options = &config->model.position_options;
    if (reader_wrong(reader, "model.positions")) return;
    reason = positions->refuse ? positions->refuse(options, (size_t)length) : NULL;
    if (reason) {
        reader_mistake(reader, key, "positions at length %lld: %s", (long long)length, reason);
        return;
    }
    if (!shape_is_known || !config->model.encoding->defined) return;
    EncodingShape shape = shape_of(config);
    reason = config->model.encoding->defined(&shape, (size_t)length,
                                             positions->largest(options, (size_t)length));
    if (reason) reader_mistake(reader, key, "%s", reason);
}

static void check_stage(Reader *reader, int s, bool shape_is_known) {
    const Config *config = reader->config;
    const Stage *stage = &config->train.stages[s];
    const IntegerList *lengths = &stage->length.list;
    char key[KEY_SIZE];
    int64_t longest = 1;
    for (int i = 0; i < lengths->count; i++) {
        check_length(reader, s, lengths->values[i], shape_is_known);
        if (lengths->values[i] > longest) longest = lengths->values[i];
    }
    long long batch = (long long)config_batch_size(config, stage, (size_t)longest);
    if (batch * longest > BATCH_TOKENS)
        reader_mistake(reader, stage_key(reader, s, "batch", key),
                       "%lld sequences of %lld tokens are %lld tokens a step; at most %d", batch,
                       (long long)longest, batch * longest, BATCH_TOKENS);
    if (batch < config->train.accumulate)
        reader_mistake(reader, "train.accumulate",
                       "a batch of %lld (at length %lld) is not enough for %lld parts", batch,
                       (long long)longest, (long long)config->train.accumulate);

    int own = config->task->vocabulary(&stage->task_options);
    int all = config->task->vocabulary(&config->task_options);
    if (own != all) {
        snprintf(key, sizeof key, "train.stages.%d", s + 1);
        reader_mistake(reader, key, "%s has %d tokens here and %d in the task; they must agree",
                       config->task->name, own, all);
    }
}

static void check_evaluation(Reader *reader) {
    const Config *config = reader->config;
    const IntegerList *lengths = &config->evaluate.lengths;
    for (int i = 0; i < lengths->count; i++) {
        const char *reason =
            config->task->refuse(&config->task_options, (size_t)lengths->values[i]);
        if (reason)
            reader_mistake(reader, "evaluate.lengths", "%s at length %lld: %s", config->task->name,
                           (long long)lengths->values[i], reason);
    }
}

/* What the task, the lengths and the shape make of each other. */
static void check_task(Reader *reader, bool shape_is_known) {
    const Config *config = reader->config;
    if (!reader_wrong(reader, "train.stages")) check_masked(reader);
    bool stages = given(reader, "train.stages");
    for (int s = 0; s < config->train.stage_count; s++) {
        char key[KEY_SIZE];
        snprintf(key, sizeof key, "train.stages.%d", s + 1);
        if (stages ? !reader_wrong(reader, key) : !reader_wrong(reader, "train.length"))
            check_stage(reader, s, shape_is_known);
    }
    if (!reader_wrong(reader, "evaluate.lengths") &&
        (given(reader, "evaluate.lengths") || !reader_wrong(reader, "train")))
        check_evaluation(reader);
}

void checks_run(Reader *reader) {
    check_name(reader);
    reader->combining = true;
    bool shape_is_known = check_heads(reader) && !reader_wrong(reader, "model.encoding") &&
                          !reader_wrong(reader, "train.length") &&
                          !reader_wrong(reader, "train.stages");
    if (shape_is_known) check_encoding(reader);
    reader->combining = false; /* what a function gives is no combination of keys */
    if (!reader_wrong(reader, "train.length") && !reader_wrong(reader, "train.stages")) {
        const EncodingShape shape = shape_of(reader->config);
        functions_tabulate(reader, shape_is_known ? &shape : NULL);
    }
    reader->combining = true;
    if (!reader_wrong(reader, "task")) check_task(reader, shape_is_known);
    reader->combining = false;
}

/* ---- files ------------------------------------------------------------------------------ */

void checks_files(Reader *reader) {
    Config *config = reader->config;
    const char *path = config->train.init_from, *wanted = config->train.init_sha256;
    const Override *override = reader_override(reader, "train.init_from");
    const bool by_hand = override && override->text;
    char reason[SOURCE_REASON], found[65];
    if (reader->mistakes.count) return;
    reader->combining = false;
    if (!*path) {
        if (*wanted) reader_mistake(reader, "train.init_sha256", "train.init_from is not given");
        return;
    }
    if (reader->stored && !by_hand) return;
    char *resolved = source_path(reader->sources, path, by_hand, reason);
    if (!resolved) {
        reader_mistake(reader, "train.init_from", "%s: %s", path, reason);
    } else if (!sha256_file(resolved, found)) {
        reader_mistake(reader, "train.init_from", "%s: %s", path, strerror(errno));
    } else if (*wanted && !reader->stored && strcmp(wanted, found) != 0) {
        reader_mistake(reader, "train.init_sha256", "%s has the SHA-256 %s", path, found);
    } else if (strlen(resolved) >= sizeof config->train.init_from) {
        reader_mistake(reader, "train.init_from", "its path is longer than %zu bytes",
                       sizeof config->train.init_from - 1);
    } else { /* where it lies, whatever the working directory is later */
        memset(&config->train.init_from, 0, sizeof config->train.init_from);
        memset(&config->train.init_sha256, 0, sizeof config->train.init_sha256);
        strcpy(config->train.init_from, resolved);
        memcpy(config->train.init_sha256, found, sizeof found);
    }
    free(resolved);
}
