/* json: JSON text → Lua values, for the resolved config of a result file. */
#ifndef SRC_LUA_JSON_H
#define SRC_LUA_JSON_H

#include <lua.h>

/* Pushes the value (RFC 8259; null is nil), or raises an error that names the byte. */
void json_push(lua_State *L, const char *text);

#endif
