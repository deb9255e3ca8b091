#include "src/lua/flatten.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base.h"
#include "src/json.h"
#include "src/lua/json.h"

/* The scalar on top of the stack. */
static void print_scalar(lua_State *L, FILE *to) {
    char text[32];
    if (lua_isinteger(L, -1))
        fprintf(to, "%lld", (long long)lua_tointeger(L, -1));
    else if (lua_type(L, -1) == LUA_TNUMBER)
        fputs(json_number_text(lua_tonumber(L, -1), text), to);
    else if (lua_type(L, -1) == LUA_TSTRING)
        fputs(lua_tostring(L, -1), to);
    else if (lua_isboolean(L, -1))
        fputs(lua_toboolean(L, -1) ? "true" : "false", to);
}

/* Of the table on top of the stack: { from, to } as "8..16". */
static bool print_span(lua_State *L, FILE *to) {
    lua_getfield(L, -1, "from");
    lua_getfield(L, -2, "to");
    bool span = lua_isinteger(L, -2) && lua_isinteger(L, -1);
    if (span)
        fprintf(to, "%lld..%lld", (long long)lua_tointeger(L, -2), (long long)lua_tointeger(L, -1));
    lua_pop(L, 2);
    return span;
}

/* A list of scalars as "16,32"; also the empty list, which is the empty object. */
static bool print_list(lua_State *L, FILE *to) {
    lua_pushnil(L);
    if (!lua_next(L, -2)) return true;
    bool list = lua_isinteger(L, -2) && !lua_istable(L, -1);
    lua_pop(L, 2);
    lua_Integer length = list ? (lua_Integer)lua_rawlen(L, -1) : 0;
    for (lua_Integer i = 1; i <= length; i++) {
        lua_rawgeti(L, -1, i);
        if (i > 1) fputc(',', to);
        print_scalar(L, to);
        lua_pop(L, 1);
    }
    return list;
}

static void add_key(FlatKeys *keys, const char *key, char *value) {
    if (keys->count == keys->room) {
        size_t room = most(64, 2 * keys->room);
        FlatKey *larger = ALLOCATE(room, FlatKey);
        if (keys->count) memcpy(larger, keys->list, keys->count * sizeof *larger);
        free(keys->list);
        keys->list = larger;
        keys->room = room;
    }
    keys->list[keys->count++] = (FlatKey){copy_text(key), value};
}

/* Everything in the value on top of the stack, which `key` leads to. */
static void walk(lua_State *L, const char *key, FlatKeys *keys) {
    char *text;
    size_t size;
    FILE *to = memory_open(&text, &size);
    bool whole = !lua_istable(L, -1) || print_span(L, to) || print_list(L, to);
    if (!lua_istable(L, -1)) print_scalar(L, to);
    memory_close(to);
    if (whole) {
        add_key(keys, key, text);
        return;
    }
    free(text);
    luaL_checkstack(L, 8, NULL);
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        /* A copy of the name: lua_tostring would change a number that lua_next needs. */
        lua_pushvalue(L, -2);
        const char *name = lua_tostring(L, -1), *dot = *key ? "." : "";
        char *path = strcmp(name, "kind") ? format_text("%s%s%s", key, dot, name) : copy_text(key);
        lua_pop(L, 1);
        walk(L, path, keys);
        free(path);
    }
}

static int compare_keys(const void *a, const void *b) {
    return strcmp(((const FlatKey *)a)->key, ((const FlatKey *)b)->key);
}

const char *flatten_find(const FlatKeys *keys, const char *key) {
    const FlatKey wanted = {.key = (char *)(size_t)key};
    const FlatKey *found =
        keys->count ? bsearch(&wanted, keys->list, keys->count, sizeof wanted, compare_keys) : NULL;
    return found ? found->value : NULL;
}

/* "task.pairs" of "train.stages.2.task.pairs"; NULL: the key is no such. */
static const char *option_of_stage(const char *key) {
    static const char start[] = "train.stages.";
    if (strncmp(key, start, strlen(start))) return NULL;
    const char *rest = strchr(key + strlen(start), '.');
    return rest && !strncmp(rest + 1, "task.", 5) ? rest + 1 : NULL;
}

static void leave_out_repeated(FlatKeys *keys) {
    size_t kept = 0;
    bool *repeated = ALLOCATE(most(keys->count, 1), bool);
    for (size_t i = 0; i < keys->count; i++) {
        const char *option = option_of_stage(keys->list[i].key);
        const char *value = option ? flatten_find(keys, option) : NULL;
        repeated[i] = value && !strcmp(value, keys->list[i].value);
    }
    for (size_t i = 0; i < keys->count; i++) {
        if (!repeated[i]) {
            keys->list[kept++] = keys->list[i];
            continue;
        }
        free(keys->list[i].key);
        free(keys->list[i].value);
    }
    keys->count = kept;
    free(repeated);
}

/* One stage: train.stages.1.steps is train.steps. */
static void shorten(FlatKeys *keys) {
    static const char only[] = "train.stages.1.", second[] = "train.stages.2.";
    for (size_t i = 0; i < keys->count; i++)
        if (!strncmp(keys->list[i].key, second, strlen(second))) return;
    for (size_t i = 0; i < keys->count; i++) {
        char *key = keys->list[i].key;
        if (strncmp(key, only, strlen(only))) continue;
        keys->list[i].key = format_text("train.%s", key + strlen(only));
        free(key);
    }
}

static int parse(lua_State *L) {
    json_push(L, lua_touserdata(L, 1));
    if (!lua_istable(L, -1)) luaL_error(L, "is no object");
    walk(L, "", lua_touserdata(L, 2));
    return 0;
}

char *flatten(const char *json, FlatKeys *keys) {
    *keys = (FlatKeys){0};
    lua_State *L = luaL_newstate();
    CHECK(L, "no memory for Lua");
    lua_pushcfunction(L, parse);
    lua_pushlightuserdata(L, (void *)(size_t)json);
    lua_pushlightuserdata(L, keys);
    char *wrong = lua_pcall(L, 2, 0, 0) ? copy_text(lua_tostring(L, -1)) : NULL;
    lua_close(L);
    if (keys->count) qsort(keys->list, keys->count, sizeof *keys->list, compare_keys);
    leave_out_repeated(keys);
    shorten(keys);
    if (keys->count) qsort(keys->list, keys->count, sizeof *keys->list, compare_keys);
    return wrong;
}

void flatten_free(FlatKeys *keys) {
    for (size_t i = 0; i < keys->count; i++) {
        free(keys->list[i].key);
        free(keys->list[i].value);
    }
    free(keys->list);
    *keys = (FlatKeys){0};
}
