/* What a config may call. A white list, and only functions whose work is bounded by the size of
   their arguments: no patterns (they back-track for ever), no setmetatable, no load, no pcall, no
   os, io, debug, coroutine, package. Nothing gives another value at another reading: no
   math.random, and pairs goes through a table in order. */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base.h"
#include "src/lua/sandbox.h"
#include "src/utf8.h"

enum {
    ITEMS = 1 << 16, /* most values of a table that one call goes through */
    BYTES = 1 << 20  /* most bytes that string.rep makes */
};

/* ---- checked versions ------------------------------------------------------------------ */

/* Calls the original, which is upvalue 1, in the place of the checked function. */
static int original(lua_State *L) {
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

/* #t may be far larger than what t holds: t[2^40] = 0 is enough. */
static int checked_items(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    if (lua_rawlen(L, 1) > ITEMS) return luaL_error(L, "a table of more than %d values", ITEMS);
    return original(L);
}

static int checked_move(lua_State *L) {
    lua_Integer from = luaL_checkinteger(L, 2), to = luaL_checkinteger(L, 3);
    if (to > from && (lua_Unsigned)to - (lua_Unsigned)from >= ITEMS)
        return luaL_error(L, "table.move of more than %d values", ITEMS);
    return original(L);
}

static int checked_rep(lua_State *L) {
    size_t length, between;
    luaL_checklstring(L, 1, &length);
    lua_Integer count = luaL_checkinteger(L, 2);
    luaL_optlstring(L, 3, "", &between);
    if (count > 0 && (count > BYTES || length + between > (size_t)(BYTES / count)))
        return luaL_error(L, "string.rep makes more than %d bytes", BYTES);
    return original(L);
}

/* To stderr, without what a terminal would obey but for ends of lines and tabs. */
static void print_clean(const char *text, size_t length) {
    char *copy = memcpy(allocate(length + 1, 1), text, length);
    for (char *at = copy, *part = copy; at <= copy + length; at++) {
        const char end = *at;
        if (end && end != '\n' && end != '\t') continue;
        *at = 0;
        fputs(utf8_clean(part, false), stderr);
        if (at < copy + length) fputc(end ? end : '?', stderr);
        part = at + 1;
    }
    free(copy);
}

static int print(lua_State *L) {
    Sandbox *sandbox = sandbox_of(L);
    int count = lua_gettop(L);
    for (int i = 1; i <= count; i++) {
        size_t length;
        const char *text = luaL_tolstring(L, i, &length);
        sandbox->printed += length + 1;
        if (sandbox->printed > SANDBOX_PRINT)
            return luaL_error(L, "prints more than %d bytes", SANDBOX_PRINT);
        print_clean(text, length);
        fputc(i < count ? '\t' : '\n', stderr);
        lua_pop(L, 1);
    }
    return 0;
}

/* ---- pairs in order -------------------------------------------------------------------- */

typedef struct {
    int type;
    lua_Number number;
    const char *text;
    size_t length;
    int place; /* in the list of keys */
} Key;

/* Numbers, then texts, then the rest as Lua gave it. */
static int compare_keys(const void *left, const void *right) {
    const Key *a = left, *b = right;
    int rank_a = a->type == LUA_TNUMBER ? 0 : a->type == LUA_TSTRING ? 1 : 2;
    int rank_b = b->type == LUA_TNUMBER ? 0 : b->type == LUA_TSTRING ? 1 : 2;
    if (rank_a != rank_b) return rank_a - rank_b;
    if (rank_a == 0 && a->number != b->number) return a->number < b->number ? -1 : 1;
    if (rank_a == 1) {
        int order = memcmp(a->text, b->text, a->length < b->length ? a->length : b->length);
        if (order) return order;
        return a->length < b->length ? -1 : a->length > b->length;
    }
    return a->place - b->place;
}

/* Upvalues: the table, its keys in order, how many were given. */
static int next_pair(lua_State *L) {
    for (;;) {
        lua_Integer at = lua_tointeger(L, lua_upvalueindex(3)) + 1;
        lua_pushinteger(L, at);
        lua_replace(L, lua_upvalueindex(3));
        if (lua_rawgeti(L, lua_upvalueindex(2), at) == LUA_TNIL) return 1;
        lua_pushvalue(L, -1);
        if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 2;
        lua_pop(L, 2); /* removed meanwhile */
    }
}

int library_pairs(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    int count = 0;
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1))
        if (++count > ITEMS) return luaL_error(L, "a table of more than %d values", ITEMS);
    Key *keys = lua_newuserdatauv(L, ((size_t)count + 1) * sizeof *keys, 0);
    lua_createtable(L, count, 0); /* 3: the keys as Lua gives them, which keeps the texts alive */
    count = 0;
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
        Key *key = &keys[count++];
        *key = (Key){.type = lua_type(L, -2), .place = count};
        if (key->type == LUA_TNUMBER) key->number = lua_tonumber(L, -2);
        if (key->type == LUA_TSTRING) key->text = lua_tolstring(L, -2, &key->length);
        lua_pushvalue(L, -2);
        lua_rawseti(L, 3, count);
    }
    qsort(keys, (size_t)count, sizeof *keys, compare_keys);
    lua_pushvalue(L, 1);
    lua_createtable(L, count, 0);
    for (int i = 0; i < count; i++) {
        lua_rawgeti(L, 3, keys[i].place);
        lua_rawseti(L, -2, i + 1);
    }
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, next_pair, 3);
    return 1;
}

/* ---- the lists ------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    lua_CFunction checked; /* NULL: as it is */
} Entry;

static const Entry base_entries[] = {
    {"assert", NULL}, {"error", NULL},  {"ipairs", NULL},   {"pairs", library_pairs},
    {"print", print}, {"select", NULL}, {"tonumber", NULL}, {"tostring", NULL},
    {"type", NULL},   {NULL, NULL}};

static const Entry math_entries[] = {
    {"abs", NULL},   {"acos", NULL}, {"asin", NULL},       {"atan", NULL},
    {"ceil", NULL},  {"cos", NULL},  {"deg", NULL},        {"exp", NULL},
    {"floor", NULL}, {"fmod", NULL}, {"huge", NULL},       {"log", NULL},
    {"max", NULL},   {"min", NULL},  {"maxinteger", NULL}, {"mininteger", NULL},
    {"modf", NULL},  {"pi", NULL},   {"rad", NULL},        {"sin", NULL},
    {"sqrt", NULL},  {"tan", NULL},  {"tointeger", NULL},  {"type", NULL},
    {"ult", NULL},   {NULL, NULL}};

static const Entry string_entries[] = {
    {"byte", NULL},       {"char", NULL},    {"format", NULL}, {"len", NULL},   {"lower", NULL},
    {"rep", checked_rep}, {"reverse", NULL}, {"sub", NULL},    {"upper", NULL}, {NULL, NULL}};

static const Entry table_entries[] = {
    {"concat", NULL},          {"insert", checked_items}, {"move", checked_move}, {"pack", NULL},
    {"remove", checked_items}, {"sort", checked_items},   {"unpack", NULL},       {NULL, NULL}};

typedef struct {
    const char *name; /* "" for the functions that need no prefix */
    lua_CFunction open;
    const Entry *entries;
} Library;

static const Library libraries[] = {{"", luaopen_base, base_entries},
                                    {"math", luaopen_math, math_entries},
                                    {"string", luaopen_string, string_entries},
                                    {"table", luaopen_table, table_entries}};
enum { LIBRARIES = sizeof libraries / sizeof *libraries };

/* __index of every library: upvalue 1 is the Library. */
static int unknown_name(lua_State *L) {
    const Library *library = lua_touserdata(L, lua_upvalueindex(1));
    const char *name = luaL_tolstring(L, 2, NULL);
    luaL_Buffer names;
    luaL_buffinit(L, &names);
    luaL_addstring(&names, *library->name ? library->name : "a config");
    luaL_addstring(&names, " has only ");
    luaL_addstring(&names, *library->name ? "" : "include, study, math, string, table, ");
    for (const Entry *entry = library->entries; entry->name; entry++) {
        luaL_addstring(&names, entry->name);
        if (entry[1].name) luaL_addstring(&names, ", ");
    }
    luaL_pushresult(&names);
    const char *list = lua_tostring(L, -1);
    if (*library->name)
        return luaL_error(L, "unknown function %s.%s; %s", library->name, name, list);
    return luaL_error(L, "unknown name %s (a text is written \"%s\"); %s", name, name, list);
}

static int new_global(lua_State *L) {
    const char *name = luaL_tolstring(L, 2, NULL);
    return luaL_error(L, "%s would be a global variable; write local %s", name, name);
}

/* Pushes a table with only the listed entries of the library. */
static void push_library(lua_State *L, const Library *library) {
    lua_newtable(L);
    lua_pushcfunction(L, library->open);
    lua_call(L, 0, 1);
    for (const Entry *entry = library->entries; entry->name; entry++) {
        lua_getfield(L, -1, entry->name);
        if (entry->checked) lua_pushcclosure(L, entry->checked, 1);
        lua_setfield(L, -3, entry->name);
    }
    lua_pop(L, 1);
    lua_createtable(L, 0, 2);
    lua_pushlightuserdata(L, (void *)library);
    lua_pushcclosure(L, unknown_name, 1);
    lua_setfield(L, -2, "__index");
    if (!*library->name) {
        lua_pushcfunction(L, new_global);
        lua_setfield(L, -2, "__newindex");
    }
    lua_setmetatable(L, -2);
}

void library_open(lua_State *L) {
    push_library(L, &libraries[0]);
    for (int i = 1; i < LIBRARIES; i++) {
        lua_pushstring(L, libraries[i].name);
        push_library(L, &libraries[i]);
        lua_rawset(L, -3);
    }
    /* ("x"):rep() finds its function through the metatable of texts. */
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_pushliteral(L, "string");
    lua_rawget(L, -4);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 2);
    /* From now on this is where chunks find their globals; the full libraries are unreachable. */
    lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
}
