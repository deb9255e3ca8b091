/* source: the text files that make a config: the file itself and those that it includes. */
#ifndef SRC_LUA_SOURCE_H
#define SRC_LUA_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/lua/places.h"

enum {
    SOURCE_COUNT = 64,     /* most files of a config */
    SOURCE_SIZE = 1 << 20, /* most bytes of one */
    INCLUDE_COUNT = 256,   /* most different include lines */
    SOURCE_REASON = 512
};

typedef struct {
    char *path; /* as messages name it */
    char *real; /* with links resolved */
    char *text; /* NUL-terminated, no NUL inside */
    Places places;
} Source;

/* File `from` wrote include "name", which is file `to`. */
typedef struct {
    int from, to;
    char *name;
} Include;

typedef struct Sources {
    int count;
    Source list[SOURCE_COUNT];
    int include_count;
    Include includes[INCLUDE_COUNT];
    char *project; /* the folder that includes may not leave */
    int recalled;  /* index of the first text of source_recall; 0: there is none */
} Sources;

/* Reads the config file itself, and finds the project folder: the nearest parent with an entry
   named `harness`, or else the file's own folder. False with the reason why it cannot be read. */
bool source_open(Sources *sources, const char *path, char reason[SOURCE_REASON]);

/* A text that lies in no file of its own (inside the result at `path`): its keys have no lines. */
void source_set(Sources *sources, const char *path, const char *text);

/* The texts that source_texts once made one of. Those behind the first are found by the end of
   their paths when they are included; no file is read. */
void source_recall(Sources *sources, const char *path, const char *texts);

/* Reads the file that file `from` includes under that name, unless it was read before. Its index,
   or -1 with the reason. */
int source_include(Sources *sources, int from, const char *name, char reason[SOURCE_REASON]);

/* The path, with links resolved and in memory of the caller, of a file that an option names. `name`
   starts at the project folder, which it may not leave, or (anywhere) at the working directory.
   NULL with the reason. */
char *source_path(const Sources *sources, const char *name, bool anywhere,
                  char reason[SOURCE_REASON]);

/* Reads the bytes of a file that an option names, in memory of the caller, and writes its path
   anew: from the project folder where it lies inside, else absolute. `name` starts at the project
   folder, which it may not leave, or (anywhere) at the working directory. NULL with the reason. */
enum { SOURCE_BYTES = 16 << 20 /* most bytes of it: they are read within the sandbox's time */ };
unsigned char *source_bytes(const Sources *sources, const char *name, bool anywhere, char **path,
                            size_t *size, char reason[SOURCE_REASON]);

/* All texts, the config's first, each other one behind a comment line with its path; memory of the
   caller. */
char *source_texts(const Sources *sources);

void source_free(Sources *sources);

#endif
