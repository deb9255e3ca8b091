#include "src/lua/reader.h"

#include <lauxlib.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- keys and mistakes ----------------------------------------------------------------- */

const char *reader_join(char key[KEY_SIZE], const char *prefix, const char *name) {
    int length = snprintf(key, KEY_SIZE, "%s%s%s", prefix, *prefix ? "." : "", name);
    if (length >= KEY_SIZE) key[KEY_SIZE - 1] = 0; /* cut: there are no such keys */
    return key;
}

static void add_key(KeyList *keys, const char *key) {
    if (keys->count == keys->room) {
        int room = keys->room ? 2 * keys->room : 64;
        char **larger = ALLOCATE((size_t)room, char *);
        if (keys->count) memcpy(larger, keys->list, (size_t)keys->count * sizeof *larger);
        free(keys->list);
        keys->list = larger;
        keys->room = room;
    }
    keys->list[keys->count++] = copy_text(key);
}

static void free_keys(KeyList *keys) {
    for (int i = 0; i < keys->count; i++) free(keys->list[i]);
    free(keys->list);
    *keys = (KeyList){0};
}

/* Whether `key` is `outer` or stands in it. */
static bool is_in(const char *key, const char *outer) {
    size_t length = strlen(outer);
    return !strncmp(key, outer, length) && (!key[length] || key[length] == '.');
}

const Override *reader_override(const Reader *reader, const char *key) {
    const Override *found = NULL;
    for (int i = 0; i < reader->override_count; i++)
        if (is_in(key, reader->overrides[i].key)) found = &reader->overrides[i];
    return found;
}

Place reader_place(const Reader *reader, const char *key) {
    char full[KEY_SIZE];
    return places_find(reader->sources, reader_join(full, reader->prefix, key));
}

/* Where the value that a study gives to a key stands. */
static Place held_place(const Reader *reader, const Override *override) {
    return places_find(reader->sources, override->place);
}

const char *reader_place_text(const Reader *reader, Place place, char text[KEY_SIZE]) {
    const char *path = reader->sources->list[place.source].path;
    snprintf(text, KEY_SIZE, place.line ? "%s:%d" : "%s", path, place.line);
    return text;
}

void reader_mistake_at(Reader *reader, const char *key, const char *format, ...) {
    char *sentence = NULL, where[KEY_SIZE];
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&sentence, format, arguments);
    va_end(arguments);
    CHECK(length >= 0, "no memory for a message");
    Place place = places_find(reader->sources, key);
    mistake_add(&reader->mistakes, place.source, place.line,
                format_text("%s: %s%s%s", reader_place_text(reader, place, where), key,
                            *key ? ": " : "", sentence));
    free(sentence);
}

void reader_mistake(Reader *reader, const char *key, const char *format, ...) {
    reader->combinations += reader->combining;
    if (reader->mistakes.count >= MISTAKES_KEPT) {
        reader->mistakes.count++;
        return;
    }
    char *sentence = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&sentence, format, arguments);
    va_end(arguments);
    CHECK(length >= 0, "no memory for a message");

    add_key(&reader->wrong, key);
    const Override *override = reader_override(reader, key);
    if (override && override->text) {
        /* The key is in the text already, unless the mistake lies deeper. */
        bool same = !strcmp(key, override->key);
        mistake_add(&reader->mistakes, MISTAKE_COMMAND_LINE, override->index,
                    format_text("command line: %s: %s%s%s", override->text, same ? "" : key,
                                same ? "" : ": ", sentence));
    } else {
        Place place = override ? held_place(reader, override) : reader_place(reader, key);
        char where[KEY_SIZE];
        mistake_add(&reader->mistakes, place.source, place.line,
                    format_text("%s: %s%s%s", reader_place_text(reader, place, where), key,
                                *key ? ": " : "", sentence));
    }
    free(sentence);
}

bool reader_wrong(const Reader *reader, const char *key) {
    for (int i = 0; i < reader->wrong.count; i++)
        if (is_in(key, reader->wrong.list[i]) || is_in(reader->wrong.list[i], key)) return true;
    return false;
}

const char *reader_given(Reader *reader, const char *key, char text[KEY_SIZE]) {
    for (int i = 0; i < reader->given.count; i++) {
        if (strcmp(reader->given.list[i], key)) continue;
        const Override *override = reader_override(reader, key);
        if (override && override->text) return strcpy(text, "command line");
        Place place = override ? held_place(reader, override) : reader_place(reader, key);
        return reader_place_text(reader, place, text);
    }
    return NULL;
}

/* ---- tables ---------------------------------------------------------------------------- */

static bool has_name(const ConfigNames *names, const char *name) {
    for (int i = 0; i < names->count; i++)
        if (!strcmp(names->list[i], name)) return true;
    return false;
}

static char *name_list(const ConfigNames *names) {
    char *text = copy_text("");
    for (int i = 0; i < names->count; i++) {
        char *longer = format_text("%s%s%s", text, i ? ", " : "", names->list[i]);
        free(text);
        text = longer;
    }
    return text;
}

/* Another table of the config that has exactly this key: "steps" outside of train. */
static const ConfigSection *section_with(const char *name) {
    for (int s = 0; s < CONFIG_SECTIONS; s++) {
        ConfigNames names = config_section_names(&config_sections[s]);
        if (has_name(&names, name)) return &config_sections[s];
    }
    return NULL;
}

static void unknown_key(Reader *reader, const char *prefix, const char *name,
                        const ConfigNames *names) {
    char key[KEY_SIZE], meant[KEY_SIZE], shown[68];
    if (reader->mistakes.count >= MISTAKES_KEPT) { /* hostile: do not even search for names */
        reader->mistakes.count++;
        return;
    }
    const char *near = mistake_nearest(name, names->count, names->list);
    const ConfigSection *elsewhere = section_with(name);
    snprintf(shown, sizeof shown, "%.64s%s", name, strlen(name) > 64 ? "..." : "");
    reader_join(key, prefix, shown);
    if (!*prefix && study_has_key(name)) {
        reader_mistake(reader, key,
                       "it stands in study files only: return study { base = ..., %s = ... }",
                       strcmp(name, "base") ? name : "grid");
    } else if (near || elsewhere) {
        reader_mistake(reader, key, "unknown key; did you mean %s?",
                       near ? reader_join(meant, prefix, near)
                            : reader_join(meant, elsewhere->name, name));
    } else {
        char *list = name_list(names);
        reader_mistake(reader, key, "unknown key; there are %s", names->count ? list : "none here");
        free(list);
    }
}

/* Reports what the table on top of the stack holds beside `names`; [1] .. [positional] are left to
   the caller. */
static void check_names(Reader *reader, const char *prefix, const ConfigNames *names,
                        int positional) {
    lua_State *L = reader->L;
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        char key[KEY_SIZE];
        if (lua_type(L, -2) == LUA_TSTRING) {
            const char *name = lua_tostring(L, -2);
            if (!has_name(names, name)) unknown_key(reader, prefix, name, names);
        } else if (!lua_isinteger(L, -2) || lua_tointeger(L, -2) < 1 ||
                   lua_tointeger(L, -2) > positional) {
            lua_pushvalue(L, -2);
            char *index = reader_value_text(L), *value;
            lua_pop(L, 1);
            value = reader_value_text(L);
            reader_mistake(reader, reader_join(key, prefix, index),
                           "%s stands there without a name", value);
            free(index);
            free(value);
        }
    }
}

/* Pushes the value of that name in the table on top of the stack. */
static void push_field(lua_State *L, const char *name) {
    lua_pushstring(L, name);
    lua_rawget(L, -2);
}

static void read_options(Reader *reader, const char *prefix, const Option *table, void *options) {
    for (const Option *option = table; option && option->name; option++) {
        char key[KEY_SIZE];
        push_field(reader->L, option->name);
        if (!lua_isnil(reader->L, -1)) {
            add_key(&reader->given, reader_join(key, prefix, option->name));
            reader_read_value(reader, key, option, options);
        }
        lua_pop(reader->L, 1);
    }
}

/* ---- kinds ----------------------------------------------------------------------------- */

static void unknown_kind(Reader *reader, const char *key, const ConfigKind *kind,
                         const char *given) {
    ConfigNames names = {0};
    for (size_t i = 0; i < *kind->count; i++) config_add_name(&names, kind->kind(i).name);
    char *list = name_list(&names);
    const char *near = given ? mistake_nearest(given, names.count, names.list) : NULL;
    if (near)
        reader_mistake(reader, key, "no kind is called \"%s\"; did you mean %s? There are %s",
                       given, near, list);
    else if (given)
        reader_mistake(reader, key, "no kind is called \"%s\"; there are %s", given, list);
    else
        reader_mistake(reader, key, "missing; one of %s", list);
    free(list);
}

/* A function is the one kind of option that has no default. */
static void require_functions(Reader *reader, const char *key, const Option *table) {
    for (const Option *option = table; option && option->name; option++) {
        char name[KEY_SIZE], place[KEY_SIZE];
        if (option->type != OPTION_FUNCTION || option->text) continue;
        if (reader_given(reader, reader_join(name, key, option->name), place)) continue;
        char *allowed = option_allowed(option);
        reader_mistake(reader, name, "missing; expected %s", allowed);
        free(allowed);
    }
}

/* The value on top of the stack: "rope" or { "rope", base = 10000 }. */
static void read_kind(Reader *reader, const char *key, const ConfigKind *kind) {
    lua_State *L = reader->L;
    bool table = lua_istable(L, -1);
    if (table) lua_rawgeti(L, -1, 1);
    const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    if (table) lua_pop(L, 1); /* the table keeps the text */
    if (!name) {
        reader_got(reader, key, "a name, or { name, option = value }");
        return;
    }
    int index = config_kind_index(kind, name);
    if (index < 0) {
        unknown_kind(reader, key, kind, name);
        return;
    }
    kind->choose(reader->config, (size_t)index);
    Kind chosen = kind->kind((size_t)index);
    if (table) {
        ConfigNames names = {0};
        config_add_options(&names, chosen.options);
        check_names(reader, key, &names, 1);
        read_options(reader, key, chosen.options, (char *)reader->config + kind->options);
    }
    require_functions(reader, key, chosen.options);
}

static void read_kinds(Reader *reader, const ConfigSection *section) {
    for (int k = 0; k < CONFIG_KINDS; k++) {
        const ConfigKind *kind = &config_kinds[k];
        if (strcmp(kind->section, section->name)) continue;
        char key[KEY_SIZE];
        reader_join(key, section->name, kind->name);
        push_field(reader->L, kind->name);
        if (!lua_isnil(reader->L, -1)) {
            add_key(&reader->given, key);
            read_kind(reader, key, kind);
        } else if (!kind->fallback) {
            unknown_kind(reader, key, kind, NULL);
        }
        lua_pop(reader->L, 1);
    }
}

/* ---- the whole ------------------------------------------------------------------------- */

/* The element of train.stages on top of the stack. */
static void read_stage(Reader *reader, const char *key, Stage *stage) {
    Config *config = reader->config;
    const Option *task_options = config->task ? config->task->options : NULL;
    if (!lua_istable(reader->L, -1)) {
        reader_got(reader, key, "{ steps = ..., length = ... }");
        return;
    }
    ConfigNames names = {0};
    config_add_options(&names, stage_options);
    config_add_options(&names, task_options);
    /* Without a task nobody knows its options. */
    if (config->task) check_names(reader, key, &names, 0);
    option_defaults(stage_options, stage);
    stage->task_options = config->task_options;
    read_options(reader, key, stage_options, stage);
    read_options(reader, key, task_options, &stage->task_options);
}

/* The value of train.stages on top of the stack. */
static void read_stages(Reader *reader) {
    int count = lua_istable(reader->L, -1) ? reader_sequence(reader->L, CONFIG_STAGES) : -1;
    add_key(&reader->given, "train.stages");
    if (count < 1) {
        char expected[64];
        snprintf(expected, sizeof expected, "a list of 1 to %d stages", CONFIG_STAGES);
        reader_got(reader, "train.stages", expected);
        return;
    }
    for (int s = 0; s < count; s++) {
        char key[KEY_SIZE];
        snprintf(key, sizeof key, "train.stages.%d", s + 1);
        lua_rawgeti(reader->L, -1, s + 1);
        read_stage(reader, key, &reader->config->train.stages[s]);
        lua_pop(reader->L, 1);
    }
    reader->config->train.stage_count = count;
}

/* The table of the section on top of the stack. */
static void read_section(Reader *reader, const ConfigSection *section) {
    ConfigNames names = config_section_names(section);
    check_names(reader, section->name, &names, 0);
    read_options(reader, section->name, section->options, reader->config);
    read_kinds(reader, section);
    if (strcmp(section->name, "train")) return;
    push_field(reader->L, "stages");
    if (!lua_isnil(reader->L, -1)) read_stages(reader);
    lua_pop(reader->L, 1);
}

void reader_read(Reader *reader) {
    lua_State *L = reader->L;
    luaL_checkstack(L, 20, NULL);
    read_section(reader, &config_sections[0]);
    for (int s = 1; s < CONFIG_SECTIONS; s++) {
        const ConfigSection *section = &config_sections[s];
        push_field(L, section->name);
        if (lua_istable(L, -1))
            read_section(reader, section);
        else if (!lua_isnil(L, -1))
            reader_got(reader, section->name, "a table of keys");
        lua_pop(L, 1);
    }
}

void reader_clear(Reader *reader) {
    free_keys(&reader->given);
    free_keys(&reader->wrong);
    functions_free(reader->functions);
    reader->functions = NULL;
    reader->override_count = 0;
    reader->combining = false;
    reader->combinations = 0;
    reader->schedule = LUA_NOREF;
    reader->config = NULL;
}
