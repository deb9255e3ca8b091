#include "src/lua/reader.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/json.h"

/* The value on top of the stack as a message shows it: "8" (a text), 0.5, a table. */
char *reader_value_text(lua_State *L) {
    int type = lua_type(L, -1);
    char number[32];
    switch (type) {
    case LUA_TSTRING: return format_text("\"%.60s\" (a text)", lua_tostring(L, -1));
    case LUA_TBOOLEAN: return copy_text(lua_toboolean(L, -1) ? "true" : "false");
    case LUA_TNUMBER:
        if (lua_isinteger(L, -1)) return format_text("%lld", (long long)lua_tointeger(L, -1));
        return copy_text(json_number_text(lua_tonumber(L, -1), number));
    case LUA_TNIL: return copy_text("nothing");
    case LUA_TTABLE:
        lua_pushnil(L);
        if (!lua_next(L, -2)) return copy_text("an empty table");
        lua_pop(L, 2);
        return copy_text("a table");
    default: return format_text("a %s", lua_typename(L, type));
    }
}

void reader_got(Reader *reader, const char *key, const char *expected) {
    char *value = reader_value_text(reader->L);
    reader_mistake(reader, key, "got %s; expected %s", value, expected);
    free(value);
}

static void wrong_value(Reader *reader, const char *key, const Option *option) {
    char *allowed = option_allowed(option);
    const bool function = option->type == OPTION_SCHEDULE || option->type == OPTION_FUNCTION;
    const Override *override = reader_override(reader, key);
    char *expected = format_text("%s%s", allowed, function && override && override->text
                                                      ? ", which has to stand in a file"
                                                      : "");
    reader_got(reader, key, expected);
    free(allowed);
    free(expected);
}

/* ---- one value: the one on top of the stack -------------------------------------------- */

static bool in_range(const Option *option, double value) {
    return value >= option->min && value <= option->max;
}

static bool read_integer(Reader *reader, const Option *option, int64_t *to) {
    int whole = 0;
    /* lua_tointegerx would take texts as well. */
    if (lua_type(reader->L, -1) == LUA_TNUMBER) *to = lua_tointegerx(reader->L, -1, &whole);
    return whole && in_range(option, (double)*to);
}

/* The number of values of a table 1, 2, 3, … without holes or keys, -1 when it is another one. */
int reader_sequence(lua_State *L, int most_values) {
    size_t length = lua_rawlen(L, -1);
    if (length > (size_t)most_values) return -1;
    size_t count = 0;
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
        if (++count > length) {
            lua_pop(L, 2);
            return -1;
        }
    return count == length ? (int)length : -1;
}

/* An integer or a list of them; wrong elements are reported one by one. */
static bool read_list(Reader *reader, const char *key, const Option *option, IntegerList *list) {
    lua_State *L = reader->L;
    list->count = 1;
    if (!lua_istable(L, -1)) return read_integer(reader, option, &list->values[0]);
    list->count = reader_sequence(L, OPTION_LIST_SIZE);
    if (list->count < 1) {
        list->count = 0;
        return false;
    }
    for (int i = 0; i < list->count; i++) {
        lua_rawgeti(L, -1, i + 1);
        char name[16], element[KEY_SIZE];
        snprintf(name, sizeof name, "%d", i + 1);
        Option one = *option;
        one.type = OPTION_INTEGER;
        if (!read_integer(reader, option, &list->values[i]))
            wrong_value(reader, reader_join(element, key, name), &one);
        lua_pop(L, 1);
    }
    return true;
}

static bool read_range(Reader *reader, const char *key, const Option *option, Span *span) {
    lua_State *L = reader->L;
    static const char *const ends[] = {"from", "to"};
    *span = (Span){.range = 1, .list.count = 2};
    int keys = 0;
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) keys++;
    if (keys != 2) return false;
    for (int i = 0; i < 2; i++) {
        lua_getfield(L, -1, ends[i]);
        bool fits = read_integer(reader, option, &span->list.values[i]);
        lua_pop(L, 1);
        if (!fits) return false;
    }
    if (span->list.values[0] > span->list.values[1])
        reader_mistake(reader, key, "the range from %lld to %lld is empty",
                       (long long)span->list.values[0], (long long)span->list.values[1]);
    return true;
}

static bool read_span(Reader *reader, const char *key, const Option *option, Span *span) {
    bool range = false;
    if (lua_istable(reader->L, -1)) {
        range = lua_getfield(reader->L, -1, "from") != LUA_TNIL;
        lua_pop(reader->L, 1);
    }
    if (range) return read_range(reader, key, option, span);
    *span = (Span){0};
    return read_list(reader, key, option, &span->list);
}

static bool read_text(Reader *reader, char *to) {
    size_t length;
    if (lua_type(reader->L, -1) != LUA_TSTRING) return false;
    const char *text = lua_tolstring(reader->L, -1, &length);
    if (length >= OPTION_TEXT_SIZE || strlen(text) != length) return false;
    memset(to, 0, OPTION_TEXT_SIZE);
    memcpy(to, text, length);
    return true;
}

/* A path, or { path = ..., sha256 = ... }, as a result says it; src/lua/files.c reads the file. */
static bool read_path(Reader *reader, File *to) {
    lua_State *L = reader->L;
    *to = (File){0};
    if (!lua_istable(L, -1)) return read_text(reader, to->path);
    char sha256[OPTION_TEXT_SIZE] = "";
    lua_getfield(L, -1, "path");
    lua_getfield(L, -2, "sha256");
    bool fits = read_text(reader, sha256) && strlen(sha256) < sizeof to->sha256;
    lua_pop(L, 1);
    fits = fits && read_text(reader, to->path);
    lua_pop(L, 1);
    if (fits) strcpy(to->sha256, sha256);
    return fits;
}

static bool read_choice(Reader *reader, const char *key, const Option *option, int *to) {
    if (lua_type(reader->L, -1) != LUA_TSTRING) return false;
    const char *given = lua_tostring(reader->L, -1);
    *to = option_choice(option->words, given);
    if (*to >= 0) return true;
    char words[32][64];
    const char *list[32];
    int count = 0;
    while (count < 32 && *option_word(option->words, count, words[count])) {
        list[count] = words[count];
        count++;
    }
    const char *near = mistake_nearest(given, count, list);
    if (near) {
        char *allowed = option_allowed(option);
        reader_mistake(reader, key, "got \"%s\"; did you mean %s? Expected %s", given, near,
                       allowed);
        free(allowed);
    }
    return near != NULL;
}

static bool read_number(Reader *reader, const Option *option, double *to) {
    if (lua_type(reader->L, -1) != LUA_TNUMBER) return false;
    *to = lua_tonumber(reader->L, -1);
    return in_range(option, *to); /* NaN is in no range */
}

static bool read_schedule(Reader *reader, const Option *option, double *to) {
    if (!lua_isfunction(reader->L, -1)) return read_number(reader, option, to);
    lua_pushvalue(reader->L, -1);
    reader->schedule = luaL_ref(reader->L, LUA_REGISTRYINDEX);
    return true;
}

static bool read_function(Reader *reader, const char *key, const Option *option,
                          const Function **to) {
    if (!lua_isfunction(reader->L, -1)) return false;
    *to = functions_add(reader, key, option);
    return true;
}

void reader_read_value(Reader *reader, const char *key, const Option *option, void *options) {
    void *field = (char *)options + option->offset;
    bool fits = false;
    switch (option->type) {
    case OPTION_BOOLEAN:
        fits = lua_isboolean(reader->L, -1);
        if (fits) *(bool *)field = lua_toboolean(reader->L, -1);
        break;
    case OPTION_INTEGER: fits = read_integer(reader, option, field); break;
    case OPTION_NUMBER: fits = read_number(reader, option, field); break;
    case OPTION_SCHEDULE: fits = read_schedule(reader, option, field); break;
    case OPTION_CHOICE: fits = read_choice(reader, key, option, field); break;
    case OPTION_STRING: fits = read_text(reader, field); break;
    case OPTION_FILE: fits = read_path(reader, field); break;
    case OPTION_INTEGERS: fits = read_list(reader, key, option, field); break;
    case OPTION_SPAN: fits = read_span(reader, key, option, field); break;
    case OPTION_FUNCTION: fits = read_function(reader, key, option, field); break;
    }
    if (!fits) wrong_value(reader, key, option);
    if (reader_wrong(reader, key)) option_defaults((Option[2]){*option, {0}}, options);
}
