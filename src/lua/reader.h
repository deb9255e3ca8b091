/* reader: a table of Lua values → Config, driven by the option tables. It goes on after a mistake,
   so that all of them are known at the end. */
#ifndef SRC_LUA_READER_H
#define SRC_LUA_READER_H

#include "src/lua/sandbox.h"

enum { KEY_SIZE = 256, OVERRIDES = 256 };

/* One "KEY=VALUE" of the command line, or a value that a study gives to a cell. */
typedef struct {
    char key[KEY_SIZE];
    const char *text; /* as given on the command line; NULL: of a study */
    const char *value;
    int index; /* on the command line */
    int held;  /* of a study: the value's place in the registry */
    char place[KEY_SIZE]; /* of a study: the key in the file, "grid.seed.2" */
} Override;

typedef struct {
    int count, room;
    char **list;
} KeyList;

/* A config or study in Lua: its texts and its state. Whoever holds it counts in `references`. */
typedef struct {
    int references;
    Sources sources;
    Sandbox sandbox;
    int rng; /* the random numbers of generators: its place in Lua's registry; 0: none yet */
} Script;

/* A function among the options: its place in the registry, and what C knows of it. */
enum { FUNCTIONS = 64, FUNCTION_VALUES = 1 << 20 /* most numbers of one */ };
typedef struct {
    Generator generator; /* of a task; first, so that its address is that of the whole */
    Function function;
    Script *script;
    const Option *option;
    char key[KEY_SIZE];
    SandboxPlace place;
    int reference;
    int arguments;  /* that it is called with: all, or all but length */
    bool by_length; /* has the parameter length */
    bool called;    /* a generator that has made an example */
} ScriptFunction;

/* Those of one config, which keeps them. */
typedef struct {
    Script *script;
    int count;
    ScriptFunction list[FUNCTIONS];
} Functions;

/* A function of a result file, and what it was when that was made. */
typedef struct {
    char key[KEY_SIZE], sha256[65];
} Recorded;

typedef struct {
    Script *script;
    Sources *sources; /* of the script, as the two below */
    Sandbox *sandbox;
    lua_State *L;       /* of the sandbox */
    const char *prefix; /* of the config's keys in the file: "base" in a study, or "" */
    bool stored; /* the keys are those of a result file, which need no other file any more */
    Config *config;
    Functions *functions; /* of the config; NULL: none so far */
    int recorded_count;
    Recorded recorded[FUNCTIONS];
    MistakeList mistakes;
    bool combining;   /* the keys are right one by one: mistakes are now of their combination */
    int combinations; /* mistakes of that sort */
    int override_count;
    Override overrides[OVERRIDES];
    KeyList given; /* keys that the file or the command line holds, valid or not */
    KeyList wrong; /* keys with a mistake */
    int schedule;  /* train.learning_rate as a function: its place in the registry, or LUA_NOREF */
} Reader;

/* A mistake at a key: "configs/x.lua:14: model.heads: " or "command line: model.heads=0: " and the
   sentence. */
void reader_mistake(Reader *reader, const char *key, const char *format, ...) PRINTF_LIKE(3, 4);

/* Whether the key, or a key that it stands in, has a mistake. */
bool reader_wrong(const Reader *reader, const char *key);

/* Where the user gave the key: "configs/x.lua:12" or "command line"; NULL: nowhere. */
const char *reader_given(Reader *reader, const char *key, char place[KEY_SIZE]);

/* The override that set the key, or a key that it stands in; NULL: none. */
const Override *reader_override(const Reader *reader, const char *key);

/* Every key of the table on top of the stack → config. */
void reader_read(Reader *reader);
/* Forgets the config, its keys and its mistakes (which are handed over before). */
void reader_clear(Reader *reader);

/* Where a key stands in the text, by its name in the file. */
Place reader_place(const Reader *reader, const char *key);
/* "configs/x.lua:12" */
const char *reader_place_text(const Reader *reader, Place place, char text[KEY_SIZE]);
/* A mistake at a key of the file that is none of the config ("grid.seed"). */
void reader_mistake_at(Reader *reader, const char *key, const char *format, ...) PRINTF_LIKE(3, 4);

/* prefix.name, without the dot where the prefix is empty; returns key. */
const char *reader_join(char key[KEY_SIZE], const char *prefix, const char *name);

/* value.c: the value on top of the stack → the option's field. The field keeps its default where
   the value is a mistake. */
void reader_read_value(Reader *reader, const char *key, const Option *option, void *options);

/* The value on top of the stack as a message shows it ("8" (a text), 0.5, a table); memory of the
   caller. */
char *reader_value_text(lua_State *L);

/* A mistake: the value on top of the stack is not what is expected. */
void reader_got(Reader *reader, const char *key, const char *expected);

/* The number of values of the table on top of the stack when it is a list without holes or names,
   and at most as long as said; -1 otherwise. */
int reader_sequence(lua_State *L, int most_values);

/* resolved.c: pushes the table that a config file would return from config->resolved_json. */
void resolved_push(lua_State *L, const char *json);

/* study.c: whether a study, other than a config, has the key: "grid". */
bool study_has_key(const char *name);

/* override.c: splits "KEY=VALUE" texts (NULL: left out) into reader->overrides, and sets them in
   the table on top of the stack. */
void override_split(Reader *reader, int count, const char *const *texts);
/* Adds one; a value of a study comes before any of the command line. */
void override_add(Reader *reader, const Override *override);
void override_apply(Reader *reader);
/* The option that a key names; of a kind's options the first of that name. NULL: there is none, or
   it holds a kind (*kind is then set). */
const Option *override_option(const char *key, const ConfigKind **kind);

/* config.c: mistakes for keys that stand twice in one table of the files. */
void config_check_doubles(Reader *reader);

/* config.c: the config on top of the stack → reader->config, or mistakes; then the texts and the
   identity of a config without mistakes. */
void config_read_table(Reader *reader);
void config_finish(Reader *reader, const char *path);

/* files.c: reads the files that options of the task name, and those of its stages. */
void files_read(Reader *reader);

/* functions.c: the function on top of the stack as the option's value; NULL after a mistake. */
const Function *functions_add(Reader *reader, const char *key, const Option *option);
/* Calls the functions of positions, and those of the encoding where the shape of the model is
   known, for all arguments that the lengths of the config ask for. */
void functions_tabulate(Reader *reader, const EncodingShape *shape);
/* Puts functions that are { sha256 = ... } in the table on top of the stack, which resolved_push
   made, back from the Lua text of the result. */
void functions_recall(Reader *reader);
/* A config from a result file whose functions give other numbers than they did is a mistake. */
void functions_compare(Reader *reader);
void functions_free(void *functions);
Script *script_create(void);
void script_release(Script *script);

/* generator.c: makes the function on top of the stack one that is called for each example. */
void generator_prepare(lua_State *L, ScriptFunction *function);
/* Outside of sandbox_protect: an example of every length that the config lists, twice. */
void generators_try(Reader *reader);

/* checks.c: what no single key can tell; fills in what follows from other keys first. */
void checks_complete(Reader *reader);
void checks_run(Reader *reader);
/* Of the files that the config names, when nothing else is wrong: outside of the sandbox and its
   clock, because it may read gigabytes. */
void checks_files(Reader *reader);

#endif
