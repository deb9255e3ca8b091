/* Loading a config: sandboxed Lua → validated plain C. */
#ifndef SRC_LUA_CONFIG_H
#define SRC_LUA_CONFIG_H

#include <stdio.h>

#include "src/config.h"
#include "src/study.h"

/* The mistakes of a config, all at once, one line each: "configs/x.lua:14: model.head: unknown
   key; did you mean model.heads?". */
typedef struct {
    int count;
    char *text; /* lines, each with its newline; NULL when there are none */
} Mistakes;

/* Reads the file and the overrides ("model.width=256") into *config. Returns true, or false with
   every mistake in *mistakes (config is then empty); the caller frees mistakes->text. Writes no
   file. The text runs in a sandbox with limits on memory and time (src/lua/sandbox.h), and no
   config, however wrong, ends the process. Uses SIGPROF while it runs: one call at a time. */
bool config_load(const char *path, int override_count, const char *const *overrides, Config *config,
                 Mistakes *mistakes);

/* A study file (return study { ... }), or a config with sweeps among the overrides
   ("seed=1..5", "model.encoding=rope,alibi" on a key that holds one value): every cell goes through
   the same reader and the same checks as a single config. A plain config without sweeps is a study
   of one cell (study->sweep). index: from 1, the one cell to read, without what is said of all (the
   others are empty, and so are claims), none where there are not that many; 0: all. False with
   every mistake, as config_load. */
bool study_load(const char *path, int index, int override_count, const char *const *overrides,
                Study *study, Mistakes *mistakes);

/* The same from the resolved JSON of a result file (config->resolved_json): kinds, stages and all.
   Functions are not in it. That of the learning rate becomes the default; those of kinds are taken
   from config->lua of the same file (NULL: there is none), and without overrides have to give what
   they gave then. */
bool config_load_json(const char *json, const char *lua, const char *path, int override_count,
                      const char *const *overrides, Config *config, Mistakes *mistakes);

/* docs/CONFIG.md and the LuaCATS annotations for editors, from the same tables, to a stream. */
void config_write_markdown(FILE *to);
void config_write_annotations(FILE *to);

/* "Lua 5.4.4". */
const char *config_lua_version(void);

#endif
