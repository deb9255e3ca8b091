/* The functions among the options of a config, as plain C. Those that give numbers are called here,
   before anything else happens, for every argument that the run can need. */
#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lua/reader.h"
#include "src/sha256.h"

static const char positions_key[] = "model.positions", encoding_key[] = "model.encoding";

static int argument_count(const Option *option) {
    char word[64];
    int count = 0;
    while (*option_word(option->words, count, word)) count++;
    return count;
}

/* ---- from Lua to a Function ----------------------------------------------------------------- */

/* Whether the function on top of the stack takes all arguments, or all but the last. */
static bool check_parameters(Reader *reader, const char *key, const Option *option, bool *all) {
    lua_Debug about;
    lua_pushvalue(reader->L, -1);
    lua_getinfo(reader->L, ">u", &about);
    const int count = argument_count(option);
    *all = about.isvararg || about.nparams == count;
    if (*all || about.nparams == count - 1) return true;
    char *allowed = option_allowed(option);
    reader_mistake(reader, key, "a function of %d parameter%s; expected %s", about.nparams,
                   about.nparams == 1 ? "" : "s", allowed);
    free(allowed);
    return false;
}

Script *script_create(void) {
    Script *script = ALLOCATE(1, Script);
    script->references = 1;
    return script;
}

void script_release(Script *script) {
    if (--script->references) return;
    if (script->sandbox.L) sandbox_close(&script->sandbox);
    source_free(&script->sources);
    free(script);
}

static Functions *create(Script *script) {
    Functions *functions = ALLOCATE(1, Functions);
    functions->script = script;
    script->references++;
    return functions;
}

void functions_free(void *context) {
    Functions *functions = context;
    if (!functions) return;
    for (int i = 0; i < functions->count; i++) {
        Function *function = &functions->list[i].function;
        if (function->count) free(function->tables[0].values); /* one block for all */
        free(function->tables);
        free(functions->list[i].generator.reason);
    }
    script_release(functions->script);
    free(functions);
}

/* The function on top of the stack where it is known already: that of the task, in a stage. */
static ScriptFunction *find(Reader *reader, const Option *option) {
    Functions *functions = reader->functions;
    for (int i = 0; functions && i < functions->count; i++) {
        lua_rawgeti(reader->L, LUA_REGISTRYINDEX, functions->list[i].reference);
        const bool same = lua_rawequal(reader->L, -1, -2);
        lua_pop(reader->L, 1);
        if (same && functions->list[i].option == option) return &functions->list[i];
    }
    return NULL;
}

/* Where the function on top of the stack is written. */
static SandboxPlace written_at(lua_State *L) {
    lua_Debug about;
    lua_pushvalue(L, -1);
    lua_getinfo(L, ">S", &about);
    if (*about.what == 'C') return (SandboxPlace){0, 0};
    return (SandboxPlace){atoi(about.short_src), about.linedefined};
}

const Function *functions_add(Reader *reader, const char *key, const Option *option) {
    lua_State *L = reader->L;
    bool all;
    if (!check_parameters(reader, key, option, &all)) return NULL;
    ScriptFunction *function = find(reader, option);
    if (function) return &function->function;
    if (!reader->functions) reader->functions = create(reader->script);
    CHECK(reader->functions->count < FUNCTIONS, "a config of more than %d functions", FUNCTIONS);
    function = &reader->functions->list[reader->functions->count++];
    function->script = reader->script;
    function->option = option;
    function->place = written_at(L);
    snprintf(function->key, sizeof function->key, "%s", key);
    char last[64];
    option_word(option->words, argument_count(option) - 1, last);
    const bool length = !strcmp(last, "length");
    function->by_length = length && all;
    function->arguments = argument_count(option) - (length && !all);
    if (!strncmp(option->words, "rng", 3)) generator_prepare(L, function);
    lua_pushvalue(L, -1);
    function->reference = luaL_ref(L, LUA_REGISTRYINDEX);
    return &function->function;
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* "at head 1, distance 3: " */
static void name_arguments(const Option *option, int count, const double *arguments,
                           char text[KEY_SIZE]) {
    char word[64];
    int used = 0;
    for (int a = 0; a < count; a++)
        used += snprintf(text + used, KEY_SIZE - (size_t)used, "%s %s %.0f", a ? "," : "at",
                         option_word(option->words, a, word), arguments[a]);
}

/* One number; false after a mistake. */
static bool call(Reader *reader, const ScriptFunction *function, const double *arguments,
                 double *number) {
    lua_State *L = reader->L;
    const int count = function->arguments;
    const Option *option = function->option;
    lua_rawgeti(L, LUA_REGISTRYINDEX, function->reference);
    for (int a = 0; a < count; a++) lua_pushinteger(L, (lua_Integer)arguments[a]);
    const int status = sandbox_call(L, count, 1);
    char at[KEY_SIZE];
    if (status != LUA_OK) {
        name_arguments(option, count, arguments, at);
        char *about = format_text("%s: %s: ", function->key, at);
        sandbox_report(reader->sandbox, status, about, &reader->mistakes);
        free(about);
        return false;
    }
    *number = lua_tonumber(L, -1);
    const bool fits = lua_type(L, -1) == LUA_TNUMBER && *number >= option->min &&
                      *number <= option->max;
    if (!fits) {
        name_arguments(option, count, arguments, at);
        char *value = reader_value_text(L);
        reader_mistake(reader, function->key,
                       "%s the function gives %s; expected a number from %g to %g", at, value,
                       option->min, option->max);
        free(value);
    }
    lua_pop(L, 1);
    return fits;
}

/* ---- the lengths of a config ---------------------------------------------------------------- */

static int compare_lengths(const void *a, const void *b) {
    const size_t left = *(const size_t *)a, right = *(const size_t *)b;
    return (left > right) - (left < right);
}

/* Every length that training or evaluation may have, rising; NULL when they are too many. */
static size_t *lengths_of(const Config *config, size_t *count) {
    const int stages = config->train.stage_count;
    size_t *list = ALLOCATE(FUNCTION_VALUES, size_t), found = 0;
    for (int s = 0; s <= stages; s++) {
        const Span *span = s < stages ? &config->train.stages[s].length : NULL;
        const IntegerList *values = span ? &span->list : &config->evaluate.lengths;
        const bool range = span && span->range;
        const int64_t more = range ? values->values[1] - values->values[0] + 1 : values->count;
        if (more > (int64_t)(FUNCTION_VALUES - found)) {
            free(list);
            return NULL;
        }
        for (int64_t i = 0; i < more; i++)
            list[found++] = (size_t)(range ? values->values[0] + i : values->values[i]);
    }
    qsort(list, found, sizeof *list, compare_lengths);
    *count = 0;
    for (size_t i = 0; i < found; i++)
        if (!i || list[i] != list[i - 1]) list[(*count)++] = list[i];
    return list;
}

/* ---- tables --------------------------------------------------------------------------------- */

/* shape NULL: a function of model.positions. */
static FunctionTable table_at(const Config *config, const EncodingShape *shape, size_t length) {
    FunctionTable table = {.length = length};
    const PositionSource *positions = config->model.positions;
    const void *options = &config->model.position_options;
    if (shape)
        config->model.encoding->ranges(shape, length, positions->largest(options, length),
                                       table.ranges);
    else
        positions->ranges(length, table.ranges);
    return table;
}

static double table_values(const FunctionTable *table, int arguments) {
    double values = 1;
    for (int a = 0; a < arguments; a++) values *= (double)table->ranges[a].count;
    return values;
}

static bool fill(Reader *reader, const ScriptFunction *function, const FunctionTable *table) {
    const int arguments = function->arguments;
    const size_t count = (size_t)table_values(table, arguments);
    for (size_t i = 0; i < count; i++) {
        double values[FUNCTION_ARGUMENTS];
        size_t rest = i;
        for (int a = arguments - 1; a >= 0; a--) {
            values[a] = table->ranges[a].from + (double)(rest % table->ranges[a].count);
            rest /= table->ranges[a].count;
        }
        if (!call(reader, function, values, &table->values[i])) return false;
    }
    return true;
}

/* Positions do not fall, and are whole where the encoding asks for it. */
static void check_positions(Reader *reader, const ScriptFunction *f) {
    const Encoding *encoding = reader->config->model.encoding;
    for (size_t t = 0; t < f->function.count; t++) {
        const FunctionTable *table = &f->function.tables[t];
        char at_length[48] = "";
        if (table->length) snprintf(at_length, sizeof at_length, ", length %zu", table->length);
        for (size_t i = 0; i < table->ranges[0].count; i++) {
            const double position = table->values[i];
            if (i && position < table->values[i - 1]) {
                reader_mistake(reader, f->key,
                               "at index %zu%s the position falls from %.17g to %.17g; it may stay "
                               "or rise",
                               i, at_length, table->values[i - 1], position);
                return;
            }
            if (encoding->needs_whole_positions && position != floor(position)) {
                reader_mistake(reader, f->key,
                               "at index %zu%s the position is %.17g; %s needs whole ones", i,
                               at_length, position, encoding->name);
                return;
            }
        }
    }
}

static void tabulate(Reader *reader, ScriptFunction *f, const EncodingShape *shape) {
    const Config *config = reader->config;
    size_t lengths, count = 0;
    size_t *list = lengths_of(config, &lengths);
    if (!list) {
        reader_mistake(reader, f->key, "a function is tabulated for at most %d lengths",
                       FUNCTION_VALUES);
        return;
    }
    /* Without the parameter length: one table, the largest of them. */
    FunctionTable *tables = ALLOCATE(f->by_length ? lengths : 1, FunctionTable);
    double values = 0;
    for (size_t i = 0; i < lengths; i++) {
        FunctionTable table = table_at(config, shape, list[i]);
        const double more = table_values(&table, f->arguments);
        if (f->by_length) {
            tables[count++] = table;
            values += more;
        } else if (more > values) {
            tables[0] = table;
            tables[0].length = 0;
            values = more, count = 1;
        }
    }
    free(list);
    if (values > FUNCTION_VALUES) {
        reader_mistake(reader, f->key,
                       "the function has to give %.0f numbers for %zu lengths; at most %d%s",
                       values, lengths, FUNCTION_VALUES,
                       f->by_length ? " (without the parameter length once for all)" : "");
        free(tables);
        return;
    }
    double *block = ALLOCATE((size_t)values, double), *to = block;
    bool good = true;
    for (size_t i = 0; good && i < count; i++) {
        tables[i].values = to;
        good = fill(reader, f, &tables[i]);
        to += (size_t)table_values(&tables[i], f->arguments);
    }
    if (good) {
        f->function.count = count;
        f->function.tables = tables;
        sha256_text(block, (size_t)values * sizeof *block, f->function.sha256);
        if (!shape) check_positions(reader, f);
    } else {
        free(block);
        free(tables);
    }
}

/* Those at a key. */
static void tabulate_all(Reader *reader, const char *key, const EncodingShape *shape) {
    Functions *functions = reader->functions;
    for (int i = 0; functions && i < functions->count; i++)
        if (!strncmp(functions->list[i].key, key, strlen(key)))
            tabulate(reader, &functions->list[i], shape);
}

void functions_tabulate(Reader *reader, const EncodingShape *shape) {
    tabulate_all(reader, positions_key, NULL);
    if (shape && !reader_wrong(reader, positions_key)) /* distances follow from positions */
        tabulate_all(reader, encoding_key, shape);
}

/* ---- from a result file --------------------------------------------------------------------- */

enum { RESOLVED = 1, TEXT = 2, STUDY_DEPTH = 8 }; /* the first two: places on the stack */

/* Pushes what stands at a key ("train.stages.1.generate") of the table at `root`, or nil. */
static void push_at(lua_State *L, int root, const char *key) {
    lua_pushvalue(L, root);
    char copy[KEY_SIZE], *rest = copy;
    snprintf(copy, sizeof copy, "%s", key);
    for (char *part; (part = strsep(&rest, "."));) {
        if (!lua_istable(L, -1))
            lua_pushnil(L);
        else if (atoi(part))
            lua_rawgeti(L, -1, atoi(part));
        else
            lua_getfield(L, -1, part);
        lua_remove(L, -2);
    }
}

/* Runs the Lua text of the result, once. */
static void run_text(Reader *reader) {
    if (!lua_isnil(reader->L, TEXT) || !reader->sources->recalled) return;
    sandbox_run(reader->sandbox, reader->sources->recalled);
    lua_replace(reader->L, TEXT);
}

/* Puts every function that a key of that name leads to, anywhere in the table on top of the stack,
   into the set at place `set`. */
static void gather(lua_State *L, int set, const char *name, int depth) {
    luaL_checkstack(L, 8, NULL);
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
        const char *dot = strrchr(key, '.'); /* grid = { ["model.encoding.bias"] = ... } */
        if (lua_istable(L, -1) && depth < STUDY_DEPTH) gather(L, set, name, depth + 1);
        if (!lua_isfunction(L, -1) || strcmp(dot ? dot + 1 : key, name) != 0) continue;
        lua_pushvalue(L, -1);
        lua_pushboolean(L, 1);
        lua_rawset(L, set);
    }
}

/* Pushes the function of that name in the study at TEXT, or nil where there are several: which of
   them the run had, its values of the grid decided. */
static void push_of_study(Reader *reader, const char *key, const char *name) {
    lua_State *L = reader->L;
    const int set = lua_gettop(L) + 1;
    int count = 0;
    lua_newtable(L);
    lua_pushvalue(L, TEXT);
    gather(L, set, name, 0);
    lua_settop(L, set);
    for (lua_pushnil(L); lua_next(L, set); lua_pop(L, 1)) {
        if (count++) continue;
        lua_pushvalue(L, -2);
        lua_replace(L, TEXT + 2); /* free by now */
    }
    lua_settop(L, set);
    if (count > 1)
        reader_mistake(reader, key, "the study that made the file has %d functions of this name",
                       count);
    if (count == 1) lua_pushvalue(L, TEXT + 2);
    else lua_pushnil(L);
}

/* The table at `prefix`: its options that are { sha256 = ... } become functions again. What a stage
   does not say itself stands in the task. */
static void recall_options(Reader *reader, const Option *table, const char *prefix) {
    lua_State *L = reader->L;
    for (const Option *option = table; option && option->name; option++) {
        char key[KEY_SIZE], place[KEY_SIZE];
        if (option->type != OPTION_FUNCTION || reader->recorded_count == FUNCTIONS) continue;
        push_at(L, RESOLVED, prefix);
        push_at(L, RESOLVED, reader_join(place, reader_join(key, prefix, option->name), "sha256"));
        if (lua_type(L, -1) == LUA_TSTRING) {
            Recorded *recorded = &reader->recorded[reader->recorded_count++];
            snprintf(recorded->key, KEY_SIZE, "%s", key);
            snprintf(recorded->sha256, 65, "%s", lua_tostring(L, -1));
            run_text(reader);
            lua_pushvalue(L, TEXT);
            const bool study = sandbox_is_study(L);
            if (study) push_of_study(reader, key, option->name);
            else push_at(L, TEXT, key);
            if (!study && !lua_isfunction(L, -1))
                push_at(L, TEXT, reader_join(place, "task", option->name));
            lua_setfield(L, TEXT + 1, option->name);
        }
        lua_settop(L, TEXT);
    }
}

void functions_recall(Reader *reader) {
    lua_State *L = reader->L;
    if (!lua_istable(L, RESOLVED)) return;
    lua_pushnil(L); /* TEXT */
    const Option *of_task = NULL;
    for (int k = 0; k < CONFIG_KINDS; k++) {
        const ConfigKind *kind = &config_kinds[k];
        char key[KEY_SIZE], name[KEY_SIZE];
        push_at(L, RESOLVED, reader_join(name, reader_join(key, kind->section, kind->name), "1"));
        const char *chosen = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
        const int index = config_kind_index(kind, chosen);
        const Option *options = index < 0 ? NULL : kind->kind((size_t)index).options;
        lua_settop(L, TEXT);
        recall_options(reader, options, key);
        if (!strcmp(key, "task")) of_task = options;
    }
    for (int s = 1; s <= CONFIG_STAGES; s++) {
        char key[KEY_SIZE];
        snprintf(key, sizeof key, "train.stages.%d", s);
        push_at(L, RESOLVED, key);
        const bool there = lua_istable(L, -1);
        lua_settop(L, TEXT);
        if (!there) break;
        recall_options(reader, of_task, key);
    }
    lua_settop(L, RESOLVED);
}

void functions_compare(Reader *reader) {
    const Functions *functions = reader->functions;
    for (int r = 0; r < reader->recorded_count; r++)
        for (int i = 0; functions && i < functions->count; i++) {
            const ScriptFunction *function = &functions->list[i];
            if (strcmp(function->key, reader->recorded[r].key) ||
                !strcmp(function->function.sha256, reader->recorded[r].sha256))
                continue;
            reader_mistake(reader, function->key,
                           "the function does not do what it did when the file was made");
        }
}
