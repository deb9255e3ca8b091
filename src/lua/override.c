/* Overrides are set in the table that the config returned, before anything is read from it: so they
   are checked like what stands in the file, and a stage inherits an overridden option. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lua/reader.h"

enum { PARTS = 5 }; /* of the longest key, train.stages.1.pairs, and one too many */

/* ---- the command line ------------------------------------------------------------------ */

static int depth_of(const char *key) {
    int dots = 0;
    for (; *key; key++) dots += *key == '.';
    return dots;
}

static bool is_key(const char *text, size_t length) {
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
    if (!length || length >= KEY_SIZE || strspn(text, letters) != length) return false;
    for (size_t i = 0; i < length; i++)
        if (text[i] == '.' && (!i || i + 1 == length || text[i + 1] == '.')) return false;
    return true;
}

/* What is set first: values of a study, and a kind before its options, whatever the command line
   says first. */
static int rank(const Override *override) {
    return (override->text ? KEY_SIZE : 0) + depth_of(override->key);
}

void override_add(Reader *reader, const Override *override) {
    CHECK(reader->override_count < OVERRIDES, "more than %d overrides", OVERRIDES);
    int at = reader->override_count++;
    for (; at > 0 && rank(&reader->overrides[at - 1]) > rank(override); at--)
        reader->overrides[at] = reader->overrides[at - 1];
    reader->overrides[at] = *override;
}

void override_split(Reader *reader, int count, const char *const *texts) {
    for (int i = 0; i < count; i++) {
        if (!texts[i]) continue;
        size_t length = strcspn(texts[i], "=");
        const char *problem = NULL;
        if (reader->override_count == OVERRIDES)
            problem = "too many overrides";
        else if (!texts[i][length] || !is_key(texts[i], length))
            problem = "expected KEY=VALUE, such as model.width=256";
        if (problem) {
            mistake_add(&reader->mistakes, MISTAKE_COMMAND_LINE, i,
                        format_text("command line: %s: %s", texts[i], problem));
            continue;
        }
        Override override = {.text = texts[i], .value = texts[i] + length + 1, .index = i};
        memcpy(override.key, texts[i], length);
        override_add(reader, &override);
    }
}

const Option *override_option(const char *key, const ConfigKind **kind) {
    char copy[KEY_SIZE], *rest = strcpy(copy, key);
    const char *section = strchr(key, '.') ? strsep(&rest, ".") : "";
    const ConfigSection *found = &config_sections[0];
    for (int s = 1; s < CONFIG_SECTIONS; s++)
        if (!strcmp(section, config_sections[s].name)) found = &config_sections[s];
    if (found == config_sections) rest = strcpy(copy, key);
    const char *name = strsep(&rest, ".");
    *kind = config_find_kind(found->name, name);
    if (!rest) return option_find(found->options, name);
    const Option *option = NULL;
    if (!strncmp(key, "train.stages.", 13)) {
        *kind = config_find_kind("", "task");
        strsep(&rest, ".");
        option = rest ? option_find(stage_options, rest) : NULL;
    }
    for (size_t i = 0; *kind && rest && !option && i < *(*kind)->count; i++)
        option = option_find((*kind)->kind(i).options, rest);
    *kind = NULL;
    return option;
}

/* ---- values ---------------------------------------------------------------------------- */

/* A number as Lua writes it, or else the text, which the reader then refuses. */
static void push_number(lua_State *L, const char *text, size_t length) {
    char *copy = format_text("%.*s", (int)length, text);
    if (!lua_stringtonumber(L, copy)) lua_pushstring(L, copy);
    free(copy);
}

/* "256,512" */
static void push_list(lua_State *L, const char *text) {
    lua_newtable(L);
    for (int i = 1;; i++) {
        size_t length = strcspn(text, ",");
        push_number(L, text, length);
        lua_rawseti(L, -2, i);
        if (!text[length]) return;
        text += length + 1;
    }
}

/* "64..128" */
static void push_range(lua_State *L, const char *text, const char *dots) {
    lua_createtable(L, 0, 2);
    push_number(L, text, (size_t)(dots - text));
    lua_setfield(L, -2, "from");
    push_number(L, dots + 2, strlen(dots + 2));
    lua_setfield(L, -2, "to");
}

/* Without an option (a kind, an unknown key) it is a text. */
static void push_value(lua_State *L, const Option *option, const char *text) {
    bool list = option && (option->type == OPTION_INTEGERS || option->type == OPTION_SPAN);
    const char *dots = strstr(text, "..");
    if (!option || option->type == OPTION_STRING || option->type == OPTION_FILE ||
        option->type == OPTION_CHOICE)
        lua_pushstring(L, text);
    else if (option->type == OPTION_BOOLEAN && (!strcmp(text, "true") || !strcmp(text, "false")))
        lua_pushboolean(L, !strcmp(text, "true"));
    else if (option->type == OPTION_BOOLEAN)
        lua_pushstring(L, text);
    else if (option->type == OPTION_SPAN && dots)
        push_range(L, text, dots);
    else if (list && strchr(text, ','))
        push_list(L, text);
    else
        push_number(L, text, strlen(text));
}

/* ---- the place in the config ------------------------------------------------------------ */

/* The table on top of the stack and a key (popped): pushes a copy of what stands there, which takes
   its place. A copy, because the file may have used one table in two places. A name becomes
   { name }, nothing an empty table. False when another value is in the way. */
static bool enter(lua_State *L) {
    int parent = lua_gettop(L) - 1;
    lua_pushvalue(L, -1);
    int type = lua_rawget(L, parent);
    lua_newtable(L); /* parent, key, old, new */
    if (type == LUA_TSTRING) {
        lua_pushvalue(L, -2);
        lua_rawseti(L, -2, 1);
    } else if (type == LUA_TTABLE) {
        for (lua_pushnil(L); lua_next(L, parent + 2);) {
            lua_pushvalue(L, -2);
            lua_insert(L, -2);
            lua_rawset(L, parent + 3);
        }
    } else if (type != LUA_TNIL) {
        lua_settop(L, parent);
        return false;
    }
    lua_insert(L, parent + 1);
    lua_pop(L, 1); /* parent, new, key */
    lua_pushvalue(L, parent + 1);
    lua_rawset(L, parent);
    return true;
}

static bool enter_name(lua_State *L, const char *name) {
    lua_pushstring(L, name);
    return enter(L);
}

static void put(lua_State *L, const char *name, const Option *option, const Override *override) {
    lua_pushstring(L, name);
    if (override->text)
        push_value(L, option, override->value);
    else
        lua_rawgeti(L, LUA_REGISTRYINDEX, override->held);
    lua_rawset(L, -3);
}

/* The options of the kind on top of the stack: "rope" or { "rope", ... }. */
static const Option *options_of(lua_State *L, const ConfigKind *kind) {
    bool table = lua_istable(L, -1);
    if (table) lua_rawgeti(L, -1, 1);
    const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    int index = config_kind_index(kind, name);
    if (table) lua_pop(L, 1);
    return index < 0 ? NULL : kind->kind((size_t)index).options;
}

/* An option of a kind; the table that holds the kind is on top of the stack. */
static void apply_to_kind(lua_State *L, const Override *override, const ConfigKind *kind,
                          const char *name) {
    lua_getfield(L, -1, kind->name);
    bool missing = lua_isnil(L, -1);
    lua_pop(L, 1);
    if (missing && !kind->fallback) return; /* the reader says that it is missing */
    if (missing) {
        lua_pushstring(L, kind->fallback);
        lua_setfield(L, -2, kind->name);
    }
    if (enter_name(L, kind->name))
        put(L, name, option_find(options_of(L, kind), name), override);
}

static bool is_known(const char *key) {
    const ConfigKind *kind;
    return override_option(key, &kind) || kind;
}

/* parts: stages, number, key; the config is at index 1, train on top of the stack. */
static void apply_to_stage(Reader *reader, const Override *override, char *const *parts) {
    lua_State *L = reader->L;
    lua_getfield(L, -1, "stages");
    long count = lua_istable(L, -1) ? (long)lua_rawlen(L, -1) : 0, number = atol(parts[1]);
    lua_pop(L, 1);
    if (number < 1 || number > count) {
        reader_mistake(reader, override->key, "there is no stage %s; train.stages has %ld",
                       parts[1], count);
        return;
    }
    lua_getfield(L, 1, "task");
    const Option *option = option_find(options_of(L, config_find_kind("", "task")), parts[2]);
    const Option *own = option_find(stage_options, parts[2]);
    lua_pop(L, 1);
    enter_name(L, "stages");
    lua_pushinteger(L, number);
    if (enter(L)) put(L, parts[2], own ? own : option, override);
}

static void apply(Reader *reader, Override *override) {
    lua_State *L = reader->L;
    char copy[KEY_SIZE], *parts[PARTS], *rest = strcpy(copy, override->key);
    int count = 0;
    while (count < PARTS && (parts[count] = strsep(&rest, "."))) count++;

    const ConfigSection *section = &config_sections[0];
    for (int s = 1; s < CONFIG_SECTIONS; s++)
        if (!strcmp(parts[0], config_sections[s].name)) section = &config_sections[s];
    bool root = section == &config_sections[0];
    if (!root && !enter_name(L, parts[0])) return; /* the reader refuses what stands there */
    char **key = parts + !root;
    int left = count - !root;
    if (!left) {
        reader_mistake(reader, override->key, "is a table of keys; set one of them");
        return;
    }
    const Option *option = option_find(section->options, *key);
    const ConfigKind *kind = config_find_kind(section->name, *key);
    bool stages = !strcmp(section->name, "train") && !strcmp(*key, "stages");
    if (stages && left == 3) {
        apply_to_stage(reader, override, key);
    } else if (stages) {
        reader_mistake(reader, override->key, "expected train.stages.NUMBER.KEY=VALUE");
    } else if (kind && left == 2) {
        apply_to_kind(L, override, kind, key[1]);
    } else if (left == 1) {
        put(L, *key, option, override);
    } else if (option || kind) {
        reader_mistake(reader, override->key, "unknown key");
    } else if (root && is_known(strchr(override->key, '.') + 1)) { /* base.train.steps */
        reader_mistake(reader, override->key, "unknown key; did you mean %s?",
                       strchr(override->key, '.') + 1);
    } else {
        /* The first part is unknown: the reader says so, and knows names that are near. */
        override->key[key[1] - 1 - copy] = 0;
        put(L, *key, NULL, override);
    }
}

void override_apply(Reader *reader) {
    int top = lua_gettop(reader->L);
    for (int i = 0; i < reader->override_count; i++) {
        apply(reader, &reader->overrides[i]);
        lua_settop(reader->L, top);
    }
}
