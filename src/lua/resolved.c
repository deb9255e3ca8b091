/* The resolved JSON of a result file → the table that a config file would return (src/config.h says
   how the two differ). The JSON is foreign: what does not have the expected form stays as it is,
   and the reader refuses it. */
#include "src/lua/json.h"
#include "src/lua/reader.h"

/* { kind = "rope", ... } → { "rope", ... } in the section on top of the stack. */
static void name_first(lua_State *L, const char *key) {
    if (lua_getfield(L, -1, key) == LUA_TTABLE) {
        lua_getfield(L, -1, "kind");
        lua_rawseti(L, -2, 1);
        lua_pushnil(L);
        lua_setfield(L, -2, "kind");
    }
    lua_pop(L, 1);
}

/* The stage on top of the stack: its task's options stand beside its own. */
static void spread_task(lua_State *L) {
    if (lua_getfield(L, -1, "task") == LUA_TTABLE) {
        for (lua_pushnil(L); lua_next(L, -2);) {
            lua_pushvalue(L, -2);
            lua_insert(L, -2); /* stage, task, key, key, value */
            lua_rawset(L, -5);
        }
        lua_pushnil(L);
        lua_setfield(L, -3, "task");
    }
    lua_pop(L, 1);
}

/* The resolved form of train on top of the stack → the form of a config. */
static void unresolve_train(lua_State *L) {
    if (lua_getfield(L, -1, "stages") == LUA_TTABLE) {
        for (int s = 1; lua_rawgeti(L, -1, s) == LUA_TTABLE; s++) {
            spread_task(L);
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    bool tabulated = lua_getfield(L, -1, "learning_rate") == LUA_TTABLE;
    lua_pop(L, 1);
    if (!tabulated) return;
    lua_pushnil(L);
    lua_setfield(L, -2, "learning_rate");
}

void resolved_push(lua_State *L, const char *json) {
    json_push(L, json);
    if (!lua_istable(L, -1)) return;
    for (int k = 0; k < CONFIG_KINDS; k++) {
        const char *section = config_kinds[k].section;
        if (*section) lua_getfield(L, -1, section);
        if (lua_istable(L, -1)) name_first(L, config_kinds[k].name);
        if (*section) lua_pop(L, 1);
    }
    if (lua_getfield(L, -1, "train") == LUA_TTABLE) unresolve_train(L);
    lua_pop(L, 1);
}
