/* expansion: what study.c and claims.c share while a study is read. */
#ifndef SRC_LUA_EXPANSION_H
#define SRC_LUA_EXPANSION_H

#include "src/lua/reader.h"
#include "src/study.h"

/* What a point of an axis sets. */
typedef struct {
    char *key, *text; /* the value as a person reads it, and as values are compared */
    char *place;      /* in the file: "grid.seed.2" */
    int held;         /* the Lua value's place in the registry */
    char *command;    /* of a sweep: "seed=2"; NULL: of the file */
    int index;        /* of a sweep: on the command line */
} Value;

typedef struct {
    int count;
    Value *values;
    char *label; /* its values, those of seeds left out, or the label that the file gives */
    bool named;  /* the file gives it */
} Point;

typedef struct {
    char place[KEY_SIZE]; /* "grid.seed" */
    bool rates;
    int count;
    Point *points;
} Axis;

typedef struct {
    Reader *reader; /* its L, sources; for the cell that is being read */
    Study *study;
    MistakeList mistakes; /* of all cells, each once */
    int axis_count;
    Axis axes[STUDY_AXES];
    int index;                   /* of the only cell to read, from 1; 0: all */
    bool wrong;                  /* a cell has mistakes, and is not just undefined */
    int base, claims, name_held; /* places in the registry, or LUA_NOREF */
    int override_count;
    const char *const *texts; /* "KEY=VALUE" as given */
    const char **overrides;   /* the same, NULL for a sweep */
} Expansion;

/* Names of the table on top of the stack, sorted; returns their number. The table keeps them. */
int table_names(lua_State *L, const char *names[CONFIG_NAMES]);

/* The value on top of the stack: "rope fraction=0.25", "8,16", "0.001"; memory of the caller. */
char *value_text(lua_State *L);

/* The claims of the file → study->claims, or mistakes in expansion->reader->mistakes. Groups are
   known. The table is on top of the stack. */
void claims_read(Expansion *expansion);

#endif
