#include "src/lua/sandbox.h"

#include <lauxlib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "src/base.h"

/* ---- memory ---------------------------------------------------------------------------- */

static void *limited(void *context, void *block, size_t old, size_t size) {
    Sandbox *sandbox = context;
    if (!block) old = 0; /* Lua passes the kind of object there */
    if (size > old && size - old > SANDBOX_MEMORY - sandbox->memory) return NULL;
    if (!size) {
        free(block);
        sandbox->memory -= old;
        return NULL;
    }
    void *moved = realloc(block, size);
    if (moved) sandbox->memory += size - old;
    return moved;
}

Sandbox *sandbox_of(lua_State *L) {
    void *context;
    lua_getallocf(L, &context);
    return context;
}

/* ---- time ------------------------------------------------------------------------------ */

/* It counts the processor's time: on a busy machine a config that does nothing wrong would take
   longer than a second, too.

   The state that the clock stops, and what is said when even that does not help. */
static lua_State *clock_state;
static char clock_text[512];
static volatile sig_atomic_t clock_rings;

static void stop(lua_State *L, lua_Debug *at) {
    lua_getinfo(L, "Sl", at);
    lua_pushfstring(L, "%s:%d: %s takes longer than %d s", at->short_src, at->currentline,
                    sandbox_of(L)->read ? "it" : "the config", SANDBOX_SECONDS);
    lua_error(L);
}

/* First ring: the next instruction raises an error, and so does every one after it (Lua allows
   lua_sethook in a signal handler). Second ring: a call into C does not come back. None of the
   library's should; if one does, the process ends here. */
static void ring(int number) {
    (void)number;
    if (!clock_rings++) {
        lua_sethook(clock_state, stop, LUA_MASKCOUNT, 1);
        return;
    }
    ssize_t ignored = write(STDERR_FILENO, clock_text, strlen(clock_text));
    (void)ignored;
    _exit(EXIT_USAGE);
}

/* What stood there before. */
typedef struct {
    struct sigaction action;
    struct itimerval timer;
    sigset_t blocked;
} Clock;

static Clock start_clock(Sandbox *sandbox) {
    clock_state = sandbox->L;
    clock_rings = 0;
    snprintf(clock_text, sizeof clock_text, "%s: a call in the config does not end\n",
             sandbox->sources->list[0].path);
    Clock before;
    struct sigaction action = {.sa_handler = ring, .sa_flags = SA_RESTART};
    struct itimerval timer = {.it_value = {SANDBOX_SECONDS, 0}, .it_interval = {0, 700000}};
    sigset_t ring_only;
    sigemptyset(&ring_only);
    sigaddset(&ring_only, SIGPROF);
    sigaction(SIGPROF, &action, &before.action);
    pthread_sigmask(SIG_UNBLOCK, &ring_only, &before.blocked);
    setitimer(ITIMER_PROF, &timer, &before.timer);
    return before;
}

static void stop_clock(const Clock *before) {
    setitimer(ITIMER_PROF, &before->timer, NULL);
    lua_sethook(clock_state, NULL, 0, 0); /* a ring between calls must not stop the next one */
    pthread_sigmask(SIG_SETMASK, &before->blocked, NULL);
    sigaction(SIGPROF, &before->action, NULL);
}

/* ---- running --------------------------------------------------------------------------- */

/* Chunks are named by the index of their source, so that positions in messages are never cut as
   Lua cuts long paths. */
void sandbox_run(Sandbox *sandbox, int index) {
    lua_State *L = sandbox->L;
    Source *source = &sandbox->sources->list[index];
    char name[16];
    snprintf(name, sizeof name, "=%d", index);
    if (luaL_loadbufferx(L, source->text, strlen(source->text), name, "t") != LUA_OK) lua_error(L);
    places_free(&source->places); /* those of a text that is not run, only there */
    source->places = places_scan(source->text);
    lua_call(L, 0, 1);
}

/* include "base.lua": what that file returns. */
static int include(lua_State *L) {
    Sandbox *sandbox = sandbox_of(L);
    const char *name = luaL_checkstring(L, 1);
    lua_Debug caller;
    if (sandbox->read) return luaL_error(L, "include \"%s\": the config has been read", name);
    if (!lua_getstack(L, 1, &caller) || !lua_getinfo(L, "S", &caller) || *caller.what == 'C')
        return luaL_error(L, "include is called from a config");
    if (sandbox->depth == SANDBOX_DEPTH)
        return luaL_error(L, "include \"%s\": more than %d files deep", name, SANDBOX_DEPTH);
    char reason[SOURCE_REASON];
    int index = source_include(sandbox->sources, atoi(caller.short_src), name, reason);
    if (index < 0) return luaL_error(L, "include \"%s\": %s", name, reason);
    sandbox->depth++;
    sandbox_run(sandbox, index);
    sandbox->depth--;
    return 1;
}

/* study { ... }: marks the table, and gives it back. */
static int study(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, "studies");
    lua_pushvalue(L, 1);
    lua_pushboolean(L, 1);
    lua_rawset(L, -3);
    lua_settop(L, 1);
    return 1;
}

bool sandbox_is_study(lua_State *L) {
    if (!lua_istable(L, -1)) return false;
    luaL_getsubtable(L, LUA_REGISTRYINDEX, "studies");
    lua_pushvalue(L, -2);
    bool is = lua_rawget(L, -2) != LUA_TNIL;
    lua_pop(L, 2);
    return is;
}

/* "SOURCE:LINE: message" → where the message starts; NULL when there is no position. */
static const char *after_position(const char *message, int *source, int *line) {
    int used = 0;
    bool found = sscanf(message, "%d:%d: %n", source, line, &used) == 2 && used;
    return found ? message + used : NULL;
}

/* The message handler: an error that a C function raises has no position, and gets that of the
   line that called it. */
static int locate(lua_State *L) {
    int source, line;
    const char *message = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : NULL;
    if (message && after_position(message, &source, &line)) return 1;
    lua_Debug at;
    for (int level = 1; lua_getstack(L, level, &at); level++) {
        lua_getinfo(L, "Sl", &at);
        if (at.currentline <= 0) continue;
        lua_pushfstring(L, "%s:%d: %s", at.short_src, at.currentline,
                        message ? message : "an error that is not a text");
        return 1;
    }
    return 1;
}

int sandbox_call(lua_State *L, int arguments, int results) {
    int handler = lua_gettop(L) - arguments;
    lua_pushcfunction(L, locate);
    lua_insert(L, handler);
    int status = lua_pcall(L, arguments, results, handler);
    lua_remove(L, handler);
    return status;
}

static double thread_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void look_at_clock(lua_State *L, lua_Debug *at) {
    if (thread_seconds() > sandbox_of(L)->until) stop(L, at);
}

/* A look every 200 instructions: few enough that 200 calls of the slowest function, which sorts
   65536 values, take less than a few seconds. */
int sandbox_call_alone(Sandbox *sandbox, int arguments, int results) {
    sandbox->read = true;
    sandbox->until = thread_seconds() + SANDBOX_SECONDS;
    lua_sethook(sandbox->L, look_at_clock, LUA_MASKCOUNT, 200);
    const int status = sandbox_call(sandbox->L, arguments, results);
    lua_sethook(sandbox->L, NULL, 0, 0);
    return status;
}

void sandbox_open(Sandbox *sandbox, Sources *sources) {
    *sandbox = (Sandbox){.sources = sources};
    sandbox->L = lua_newstate(limited, sandbox);
    CHECK(sandbox->L, "no memory for a Lua state");
}

void sandbox_close(Sandbox *sandbox) {
    lua_close(sandbox->L);
}

typedef struct {
    void (*work)(void *context);
    void *context;
} Work;

static void furnish(lua_State *L) {
    library_open(L);
    lua_pushglobaltable(L);
    lua_pushliteral(L, "include");
    lua_pushcfunction(L, include);
    lua_rawset(L, -3);
    lua_pushliteral(L, "study");
    lua_pushcfunction(L, study);
    lua_rawset(L, -3);
}

static int protected(lua_State *L) {
    const Work *work = lua_touserdata(L, 1);
    Sandbox *sandbox = sandbox_of(L);
    if (!sandbox->furnished) furnish(L);
    sandbox->furnished = true;
    lua_settop(L, 0);
    work->work(work->context);
    return 0;
}

void sandbox_protect(Sandbox *sandbox, void (*work)(void *context), void *context,
                     MistakeList *mistakes) {
    Work what = {work, context};
    sandbox->read = false;
    Clock before = start_clock(sandbox);
    lua_pushcfunction(sandbox->L, protected);
    lua_pushlightuserdata(sandbox->L, &what);
    int status = sandbox_call(sandbox->L, 1, 0);
    stop_clock(&before);
    if (status != LUA_OK) sandbox_report(sandbox, status, "", mistakes);
}

char *sandbox_error(Sandbox *sandbox, int status, const char *about, SandboxPlace *at) {
    lua_State *L = sandbox->L;
    const Sources *sources = sandbox->sources;
    const char *message = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "cannot be read";
    int source = 0, line = 0;
    const char *sentence = after_position(message, &source, &line);
    if (!sentence || source < 0 || source >= sources->count) source = line = 0, sentence = message;
    if (strstr(sentence, "C stack overflow")) sentence = "nested too deeply";

    const char *path = sources->list[source].path;
    char *text;
    if (status == LUA_ERRMEM)
        text = format_text("%s: %sneeds more than %d MiB of memory", path, about,
                           SANDBOX_MEMORY >> 20);
    else if (line)
        text = format_text("%s:%d: %s%s", path, line, about, sentence);
    else
        text = format_text("%s: %s%s", path, about, sentence);
    lua_pop(L, 1);
    if (at) *at = (SandboxPlace){source, line};
    return text;
}

void sandbox_report(Sandbox *sandbox, int status, const char *about, MistakeList *mistakes) {
    SandboxPlace at;
    char *text = sandbox_error(sandbox, status, about, &at);
    mistake_add(mistakes, at.source, at.line, text);
}
