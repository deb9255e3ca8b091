#include "src/lua/config.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "src/identity.h"
#include "src/lua/reader.h"

const char *config_lua_version(void) {
    return LUA_RELEASE;
}

void config_check_doubles(Reader *reader) {
    for (int s = 0; s < reader->sources->count; s++) {
        const Source *source = &reader->sources->list[s];
        for (int i = 0; i < source->places.count; i++) {
            const PlaceNode *node = &source->places.nodes[i];
            if (!node->first_line) continue;
            mistake_add(&reader->mistakes, s, node->line,
                        format_text("%s:%d: %.*s: is in this table twice, also in line %d",
                                    source->path, node->line, node->name_length, node->name,
                                    node->first_line));
        }
    }
}

void config_read_table(Reader *reader) {
    if (sandbox_is_study(reader->L)) {
        reader_mistake(reader, "", "a study of several runs; this needs a single one");
        return;
    }
    if (!lua_istable(reader->L, -1)) {
        char *value = reader_value_text(reader->L);
        reader_mistake(reader, "", "the file returns %s; a config is return { ... }", value);
        free(value);
        return;
    }
    override_apply(reader);
    reader_read(reader);
    if (reader->mistakes.count >= MISTAKES_KEPT) return; /* from here on not every key is known */
    checks_complete(reader);
    checks_run(reader);
}

/* The two kinds of work under the sandbox's protection: a Lua text, and JSON, whose functions stand
   in the Lua text beside it. */
static void read_lua(void *context) {
    Reader *reader = context;
    sandbox_run(reader->sandbox, 0);
    config_check_doubles(reader);
    config_read_table(reader);
}

static void read_json(void *context) {
    Reader *reader = context;
    resolved_push(reader->L, reader->sources->list[0].text);
    functions_recall(reader);
    config_read_table(reader);
}

static const char *place(void *context, const char *key) {
    static char text[KEY_SIZE];
    return reader_given(context, key, text);
}

/* In the order of the command line. */
static char *override_texts(const Reader *reader) {
    char *all = copy_text("");
    for (int index = 0; index < OVERRIDES; index++)
        for (int i = 0; i < reader->override_count; i++) {
            const Override *override = &reader->overrides[i];
            if (!override->text || override->index != index) continue;
            char *longer = format_text("%s%s\n", all, override->text);
            free(all);
            all = longer;
        }
    return all;
}

void config_finish(Reader *reader, const char *path) {
    reader->config->path = copy_text(path);
    reader->config->overrides = override_texts(reader);
    identity_fill(reader->config, place, reader);
    if (!reader->functions) return;
    reader->config->script = reader->functions;
    reader->config->free_script = functions_free;
    reader->functions = NULL;
}

static void run(Reader *reader, void (*work)(void *context)) {
    sandbox_open(reader->sandbox, reader->sources);
    reader->L = reader->sandbox->L;
    reader->schedule = LUA_NOREF;
    sandbox_protect(reader->sandbox, work, reader, &reader->mistakes);
    if (!reader->mistakes.count) generators_try(reader);
    if (!reader->mistakes.count && !reader->override_count) functions_compare(reader);
}

/* From the file at path, or from json (and the Lua text that it came from) where that is given. */
static bool load(const char *path, const char *json, const char *lua, int override_count,
                 const char *const *overrides, Config *config, Mistakes *mistakes) {
    Reader *reader = ALLOCATE(1, Reader);
    Script *script = script_create();
    Sources *sources = &script->sources;
    reader->config = config;
    reader->prefix = "";
    reader->script = script;
    reader->sources = sources;
    reader->sandbox = &script->sandbox;
    config_defaults(config);
    override_split(reader, override_count, overrides);
    char reason[SOURCE_REASON];
    reader->stored = json != NULL;
    if (json) {
        source_set(sources, path, json);
        if (lua) source_recall(sources, path, lua);
        run(reader, read_json);
    } else if (source_open(sources, path, reason)) {
        run(reader, read_lua);
    } else {
        mistake_add(&reader->mistakes, 0, 0, format_text("%s: %s", path, reason));
    }

    checks_files(reader);
    bool good = !reader->mistakes.count;
    if (good) {
        config_finish(reader, path);
        config->lua = lua ? copy_text(lua) : source_texts(sources);
    } else {
        config_free(config);
    }
    mistakes_finish(&reader->mistakes, mistakes);
    reader_clear(reader);
    free(reader);
    script_release(script);
    return good;
}

bool config_load(const char *path, int override_count, const char *const *overrides, Config *config,
                 Mistakes *mistakes) {
    return load(path, NULL, NULL, override_count, overrides, config, mistakes);
}

bool config_load_json(const char *json, const char *lua, const char *path, int override_count,
                      const char *const *overrides, Config *config, Mistakes *mistakes) {
    return load(path, json, lua, override_count, overrides, config, mistakes);
}
