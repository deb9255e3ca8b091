#include "src/lua/config.h"

#include <lua.h>

const char *config_lua_version(void) {
    return LUA_RELEASE;
}
