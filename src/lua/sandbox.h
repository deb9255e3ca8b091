/* sandbox: runs the Lua text of a config so that no text, however hostile, can do more than take a
   second and 64 MiB: an allocator with a limit, a wall clock, a short list of functions that all
   end by themselves (library.c), text chunks only, files only inside the project folder. */
#ifndef SRC_LUA_SANDBOX_H
#define SRC_LUA_SANDBOX_H

#include <lua.h>

#include "src/lua/mistakes.h"
#include "src/lua/source.h"

enum {
    SANDBOX_MEMORY = 64 << 20, /* bytes */
    SANDBOX_SECONDS = 1,
    SANDBOX_DEPTH = 8, /* includes inside includes */
    SANDBOX_PRINT = 1 << 16
};

typedef struct {
    lua_State *L;
    Sources *sources;
    size_t memory;  /* bytes that Lua holds */
    size_t printed; /* bytes */
    int depth;
    bool furnished; /* the library is open */
    double until;   /* of sandbox_call_alone: seconds of this thread's time */
    bool read;      /* the config has been read: nothing more is included */
} Sandbox;

void sandbox_open(Sandbox *sandbox, Sources *sources);
void sandbox_close(Sandbox *sandbox);

/* Calls work(context) with errors caught and the clock running; an error becomes a mistake. */
void sandbox_protect(Sandbox *sandbox, void (*work)(void *context), void *context,
                     MistakeList *mistakes);

/* Inside sandbox_protect: runs source `index` and leaves what it returns on the stack. */
void sandbox_run(Sandbox *sandbox, int index);

/* lua_pcall whose errors tell where they come from. */
int sandbox_call(lua_State *L, int arguments, int results);

/* The same when the config has been read, in the middle of a run: no signal is used, and a second
   is one of this thread's own time, so that a run that was suspended goes on. */
int sandbox_call_alone(Sandbox *sandbox, int arguments, int results);

/* Takes the error that sandbox_call left on the stack as one line, with the place that it comes
   from; memory of the caller. `about` stands before the message ("train.learning_rate: at step 3:
   "). The place goes to *at too, where that is not NULL. */
typedef struct {
    int source, line;
} SandboxPlace;
char *sandbox_error(Sandbox *sandbox, int status, const char *about, SandboxPlace *at);

/* Makes a mistake of it. */
void sandbox_report(Sandbox *sandbox, int status, const char *about, MistakeList *mistakes);

/* Whether the value on top of the stack went through study { ... }. */
bool sandbox_is_study(lua_State *L);

/* The sandbox that a state belongs to. */
Sandbox *sandbox_of(lua_State *L);

/* library.c: gives a fresh state the functions that a config may call. */
void library_open(lua_State *L);

/* pairs, in the order of the keys. */
int library_pairs(lua_State *L);

#endif
