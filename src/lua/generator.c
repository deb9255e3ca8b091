/* A function of the config that makes the examples of a task. It is called for each example, by the
   main thread, in the state that the config was read in, which stays open for it: with the same
   limits on memory and functions, and a second of time for each call. */
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lua/reader.h"
#include "src/sha256.h"

/* ---- rng: the random numbers of one example ------------------------------------------------- */

static const char rng_name[] = "rng";

static Rng *check_rng(lua_State *L) {
    Rng **rng = luaL_checkudata(L, 1, rng_name);
    if (!*rng) luaL_error(L, "rng is there for generate alone");
    return *rng;
}

static int below(lua_State *L) {
    Rng *rng = check_rng(L);
    const lua_Integer bound = luaL_checkinteger(L, 2);
    luaL_argcheck(L, bound > 0, 2, "nothing lies below it");
    lua_pushinteger(L, (lua_Integer)rng_below(rng, (uint64_t)bound));
    return 1;
}

static int uniform(lua_State *L) {
    lua_pushnumber(L, rng_uniform(check_rng(L)));
    return 1;
}

/* The object that generate is called with: one for all, NULL between calls. */
static int make_rng(lua_State *L) {
    static const luaL_Reg methods[] = {{"below", below}, {"uniform", uniform}, {NULL, NULL}};
    *(Rng **)lua_newuserdatauv(L, sizeof(Rng *), 0) = NULL;
    luaL_newmetatable(L, rng_name);
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    return luaL_ref(L, LUA_REGISTRYINDEX);
}

/* ---- what the function is: its text and what it refers to ----------------------------------- */

enum { HASH_DEPTH = 32 };

typedef struct {
    lua_State *L;
    const Sources *sources;
    FILE *to;
    int seen, count; /* index of the table of values seen, and how many */
} Hash;

static void hash_value(Hash *hash, int depth);

/* The lines that the function on top of the stack is written in. */
static void hash_lines(Hash *hash, const lua_Debug *about) {
    const char *text = hash->sources->list[atoi(about->short_src)].text;
    for (int line = 1; *text && line <= about->lastlinedefined; line++) {
        const int length = (int)strcspn(text, "\n");
        if (line >= about->linedefined) fprintf(hash->to, "%.*s\n", length, text);
        text += length + (text[length] != 0);
    }
}

/* The function on top of the stack, and the values that it uses from outside; the table of globals,
   which nobody can change, is not one of them. */
static void hash_function(Hash *hash, int depth) {
    lua_State *L = hash->L;
    lua_Debug about;
    lua_pushvalue(L, -1);
    lua_getinfo(L, ">S", &about);
    if (*about.what == 'C') {
        fputs("a function of the library", hash->to);
        return;
    }
    hash_lines(hash, &about);
    const char *name;
    for (int n = 1; (name = lua_getupvalue(L, -1, n)); n++) {
        lua_pushglobaltable(L);
        const bool globals = lua_rawequal(L, -1, -2);
        lua_pop(L, 1);
        fprintf(hash->to, "%s = ", name);
        if (!globals) hash_value(hash, depth);
        lua_pop(L, 1);
    }
}

/* The table on top of the stack, in the order of its keys. */
static void hash_table(Hash *hash, int depth) {
    lua_State *L = hash->L;
    lua_pushcfunction(L, library_pairs);
    lua_pushvalue(L, -2);
    lua_call(L, 1, 1);
    for (;;) {
        lua_pushvalue(L, -1);
        lua_call(L, 0, 2);
        if (lua_isnil(L, -2)) break;
        lua_pushvalue(L, -2);
        hash_value(hash, depth);
        lua_pop(L, 1);
        fputs(": ", hash->to);
        hash_value(hash, depth);
        lua_pop(L, 2);
    }
    lua_pop(L, 3);
}

/* The value on top of the stack. A table or function that comes again is named by its number. */
static void hash_value(Hash *hash, int depth) {
    lua_State *L = hash->L;
    const int type = lua_type(L, -1);
    luaL_checkstack(L, 16, NULL);
    if (type != LUA_TTABLE && type != LUA_TFUNCTION) {
        size_t length;
        const char *text = luaL_tolstring(L, -1, &length);
        fprintf(hash->to, "%s %zu ", lua_typename(L, type), length);
        fwrite(text, 1, length, hash->to);
        fputc('\n', hash->to);
        lua_pop(L, 1);
        return;
    }
    if (depth == HASH_DEPTH) luaL_error(L, "values inside values, more than %d deep", HASH_DEPTH);
    lua_pushvalue(L, -1);
    if (lua_rawget(L, hash->seen) != LUA_TNIL) {
        fprintf(hash->to, "again %lld\n", (long long)lua_tointeger(L, -1));
        lua_pop(L, 1);
        return;
    }
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    lua_pushinteger(L, ++hash->count);
    lua_rawset(L, hash->seen);
    fprintf(hash->to, "%s %d {\n", lua_typename(L, type), hash->count);
    if (type == LUA_TTABLE)
        hash_table(hash, depth + 1);
    else
        hash_function(hash, depth + 1);
    fputs("}\n", hash->to);
}

static const char *generate(Generator *generator, Rng *rng, size_t length, int vocabulary,
                            Example *example);

/* The function on top of the stack. */
void generator_prepare(lua_State *L, ScriptFunction *f) {
    f->generator.generate = generate;
    f->function.generator = &f->generator;
    if (!f->script->rng) f->script->rng = make_rng(L);
    char *text = NULL;
    size_t size;
    const int top = lua_gettop(L);
    lua_newtable(L);
    Hash hash = {.L = L, .sources = &f->script->sources, .seen = top + 1};
    hash.to = memory_open(&text, &size);
    lua_pushvalue(L, top);
    hash_value(&hash, 0);
    lua_settop(L, top);
    memory_close(hash.to);
    sha256_text(text, size, f->function.sha256);
    free(text);
}

/* ---- a call --------------------------------------------------------------------------------- */

typedef enum { IDS, MARKS, DISTANCES } ListKind;

/* The list at an index of the stack → one number a token: ids from 0 to `most`, marks 0 and 1 or
   booleans, distances from 0 to the token's place. False with a sentence in *reason. */
static bool read_list(lua_State *L, int index, const char *name, ListKind kind, size_t length,
                      lua_Integer most, int32_t *to, char **reason) {
    lua_pushvalue(L, index);
    if (!lua_istable(L, -1)) {
        char *value = reader_value_text(L);
        *reason = format_text("%s is %s; expected a list of %zu values", name, value, length);
        free(value);
        return false;
    }
    if (lua_rawlen(L, -1) != length) {
        *reason = format_text("%s has %llu values; expected %zu, one a token", name,
                              (unsigned long long)lua_rawlen(L, -1), length);
        return false;
    }
    for (size_t t = 0; t < length; t++) {
        int whole = 0;
        const int type = lua_rawgeti(L, index, (lua_Integer)t + 1);
        lua_Integer value = type == LUA_TNUMBER ? lua_tointegerx(L, -1, &whole) : 0;
        if (kind == MARKS && type == LUA_TBOOLEAN) whole = 1, value = lua_toboolean(L, -1);
        if (kind == DISTANCES) most = (lua_Integer)t;
        if (!whole || value < 0 || value > most) {
            char *text = reader_value_text(L);
            *reason = format_text("%s[%zu] is %s; expected %s0 to %lld", name, t + 1, text,
                                  kind == MARKS ? "true, false, " : "an integer from ",
                                  (long long)most);
            free(text);
            return false;
        }
        to[t] = (int32_t)value;
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return true;
}

/* The results tokens, targets, scored and distance at 1 to 4 → *e; distance may be missing. */
static bool read_results(lua_State *L, size_t length, int vocabulary, Example *e, char **reason) {
    const lua_Integer last = vocabulary - 1;
    int32_t *marks = e->distance; /* its own values come later */
    size_t count = 0;
    if (!read_list(L, 1, "tokens", IDS, length, last, e->tokens, reason) ||
        !read_list(L, 2, "targets", IDS, length, last, e->targets, reason) ||
        !read_list(L, 3, "scored", MARKS, length, 1, marks, reason))
        return false;
    for (size_t t = 0; t < length; t++) count += e->scored[t] = (uint8_t)marks[t];
    if (!count) {
        *reason = copy_text("no place is scored");
        return false;
    }
    memset(e->distance, 0, length * sizeof *e->distance);
    if (!lua_isnil(L, 4) &&
        !read_list(L, 4, "distance", DISTANCES, length, 0, e->distance, reason))
        return false;
    for (size_t t = 0; t < length; t++)
        if (!e->scored[t]) e->distance[t] = 0;
    return true;
}

/* A part of the function's identity: its first example, which tells it from another function that
   is written in the same lines. */
static void add_to_identity(ScriptFunction *f, const Example *example, size_t length) {
    const size_t bytes = length * sizeof(int32_t), size = 64 + 2 * bytes + length;
    char *text = ALLOCATE(size, char);
    memcpy(text, f->function.sha256, 64);
    memcpy(text + 64, example->tokens, bytes);
    memcpy(text + 64 + bytes, example->targets, bytes);
    memcpy(text + 64 + 2 * bytes, example->scored, length);
    sha256_text(text, size, f->function.sha256);
    free(text);
    f->called = true;
}

/* Nothing here may raise an error outside of the call: there is no one to catch it. */
static const char *generate(Generator *generator, Rng *rng, size_t length, int vocabulary,
                            Example *example) {
    ScriptFunction *f = (ScriptFunction *)generator;
    Script *script = f->script;
    lua_State *L = script->sandbox.L;
    free(generator->reason);
    generator->reason = NULL;
    char about[KEY_SIZE + 32], *wrong = NULL;
    snprintf(about, sizeof about, "%s: length %zu: ", f->key, length);
    lua_settop(L, 0);
    lua_rawgeti(L, LUA_REGISTRYINDEX, f->reference);
    lua_rawgeti(L, LUA_REGISTRYINDEX, script->rng);
    Rng **current = lua_touserdata(L, -1);
    lua_pushinteger(L, (lua_Integer)length);
    *current = rng;
    const int status = sandbox_call_alone(&script->sandbox, 2, 4);
    *current = NULL;
    if (status != LUA_OK) {
        generator->reason = sandbox_error(&script->sandbox, status, about, NULL);
    } else if (!read_results(L, length, vocabulary, example, &wrong)) {
        const char *path = script->sources.list[f->place.source].path;
        generator->reason = f->place.line
                                ? format_text("%s:%d: %s%s", path, f->place.line, about, wrong)
                                : format_text("%s: %s%s", path, about, wrong);
        free(wrong);
    } else if (!f->called) {
        add_to_identity(f, example, length);
    }
    lua_settop(L, 0);
    return generator->reason;
}

/* ---- before the run ------------------------------------------------------------------------- */

/* An example of the task with these options at each length, added to the hash; false after a
   mistake. */
static bool try_lengths(Reader *reader, const void *options, RngPurpose purpose,
                        const IntegerList *lengths, char hash[65]) {
    const Config *config = reader->config;
    for (int i = 0; i < lengths->count; i++) {
        const size_t length = (size_t)lengths->values[i], bytes = length * sizeof(int32_t);
        char *memory = ALLOCATE(64 + 3 * bytes + length, char);
        int32_t *arrays = (int32_t *)(memory + 64);
        Example example = {arrays, arrays + length, (uint8_t *)(arrays + 3 * length),
                           arrays + 2 * length};
        Rng rng = rng_stream(0, purpose, 1, 0); /* the same function whatever the seed */
        config->task->generate(options, &rng, length, &example);
        const char *reason = config->task->failed(options);
        if (reason) mistake_add(&reader->mistakes, 0, 0, copy_text(reason));
        memcpy(memory, hash, 64);
        sha256_text(memory, 64 + 3 * bytes + length, hash);
        free(memory);
        if (reason) return false;
    }
    return true;
}

/* Twice, to find functions that count their calls: what they give would depend on where a run was
   stopped. */
void generators_try(Reader *reader) {
    const Config *config = reader->config;
    if (!config->task->failed) return;
    char hashes[2][65] = {{0}};
    for (int pass = 0; pass < 2; pass++) {
        for (int s = 0; s < config->train.stage_count; s++) {
            const Stage *stage = &config->train.stages[s];
            if (!try_lengths(reader, &stage->task_options, RNG_TRAIN, &stage->length.list,
                             hashes[pass]))
                return;
        }
        if (!try_lengths(reader, &config->task_options, RNG_EVALUATE, &config->evaluate.lengths,
                         hashes[pass]))
            return;
    }
    if (strcmp(hashes[0], hashes[1]))
        reader_mistake(reader, "task.generate",
                       "gives another example when it is called again with the same random "
                       "numbers; it may not keep anything from call to call");
}
