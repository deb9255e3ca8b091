#include "src/lua/config.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "src/identity.h"
#include "src/lua/reader.h"

/* Under the sandbox's protection: reading a table may raise a Lua error as well. */
static void read_all(void *context) {
    Reader *reader = context;
    sandbox_run(reader->sandbox, 0);
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

static const char *place(void *context, const char *key) {
    static char text[KEY_SIZE];
    return reader_given(context, key, text);
}

static char *override_texts(int count, const char *const *texts) {
    char *all = copy_text("");
    for (int i = 0; i < count; i++) {
        char *longer = format_text("%s%s\n", all, texts[i]);
        free(all);
        all = longer;
    }
    return all;
}

static void load(Reader *reader, Sources *sources, const char *path) {
    char reason[SOURCE_REASON];
    if (!source_open(sources, path, reason)) {
        mistake_add(&reader->mistakes, 0, 0, format_text("%s: %s", path, reason));
        return;
    }
    Sandbox sandbox;
    sandbox_open(&sandbox, sources);
    reader->sources = sources;
    reader->sandbox = &sandbox;
    reader->L = sandbox.L;
    reader->schedule = LUA_NOREF;
    sandbox_protect(&sandbox, read_all, reader, &reader->mistakes);
    sandbox_close(&sandbox);
}

bool config_load(const char *path, int override_count, const char *const *overrides, Config *config,
                 Mistakes *mistakes) {
    Reader *reader = ALLOCATE(1, Reader);
    Sources *sources = ALLOCATE(1, Sources);
    reader->config = config;
    config_defaults(config);
    override_split(reader, override_count, overrides);
    load(reader, sources, path);

    bool good = !reader->mistakes.count;
    if (good) {
        config->path = copy_text(path);
        config->lua = source_texts(sources);
        config->overrides = override_texts(override_count, overrides);
        identity_fill(config, place, reader);
    } else {
        config_free(config);
    }
    mistakes_finish(&reader->mistakes, mistakes);
    reader_free(reader);
    source_free(sources);
    free(reader);
    free(sources);
    return good;
}
