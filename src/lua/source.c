#include "src/lua/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base.h"

static void say(char reason[SOURCE_REASON], const char *format, ...) PRINTF_LIKE(2, 3);
static void say(char reason[SOURCE_REASON], const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, SOURCE_REASON, format, arguments);
    va_end(arguments);
}

/* The bytes of an open file and a zero behind them, or NULL with the reason. */
static char *read_open(int file, size_t limit, size_t *size, char reason[SOURCE_REASON]) {
    struct stat status;
    if (fstat(file, &status)) {
        say(reason, "%s", strerror(errno));
        return NULL;
    }
    if (!S_ISREG(status.st_mode)) {
        say(reason, "%s", S_ISDIR(status.st_mode) ? "is a folder" : "is not a regular file");
        return NULL;
    }
    char *bytes = ALLOCATE(limit + 2, char);
    ssize_t got;
    *size = 0;
    while ((got = read(file, bytes + *size, limit + 1 - *size)) > 0) *size += (size_t)got;
    if (got < 0)
        say(reason, "%s", strerror(errno));
    else if (*size > limit)
        say(reason, "is larger than %zu KiB", limit / 1024);
    else
        return bytes;
    free(bytes);
    return NULL;
}

static char *read_file(const char *path, size_t limit, size_t *size, char reason[SOURCE_REASON]) {
    /* Non-blocking: opening a pipe must not wait for its other end. */
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) {
        say(reason, "%s", strerror(errno));
        return NULL;
    }
    char *bytes = read_open(file, limit, size, reason);
    close(file);
    return bytes;
}

static char *read_text(const char *path, char reason[SOURCE_REASON]) {
    size_t size;
    char *text = read_file(path, SOURCE_SIZE, &size, reason);
    if (!text || !memchr(text, 0, size)) return text;
    say(reason, "is not a text file");
    free(text);
    return NULL;
}

/* The folder part of a path, "" when there is none, "/" kept: memory of the caller. */
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = copy_text(path);
    folder[!slash ? 0 : slash == path ? 1 : slash - path] = 0;
    return folder;
}

static char *find_project(const char *resolved) {
    char *own = folder_of(resolved), *folder = copy_text(own);
    for (;;) {
        char *entry = format_text("%s/harness", folder);
        bool found = !access(entry, F_OK);
        free(entry);
        if (found || !strcmp(folder, "/")) {
            char *project = found ? folder : own;
            free(found ? own : folder);
            return project;
        }
        char *parent = folder_of(folder);
        free(folder);
        folder = parent;
    }
}

static bool inside(const char *project, const char *resolved) {
    size_t length = strlen(project);
    return !strcmp(project, "/") ||
           (!strncmp(resolved, project, length) && (resolved[length] == '/' || !resolved[length]));
}

/* folder/name with "." and "folder/.." left out, for messages. */
static char *join(const char *folder, const char *name) {
    char *path =
        *name == '/' ? copy_text(name) : format_text("%s%s%s", folder, *folder ? "/" : "", name);
    char *out = path;
    for (const char *at = path; *at;) {
        size_t length = strcspn(at, "/"), whole = length + (at[length] == '/');
        char *last = out - (out > path);
        while (last > path && last[-1] != '/') last--;
        bool up = length == 2 && !strncmp(at, "..", 2);
        bool undo = up && out - last > 1 && strncmp(last, "../", 3);
        if (undo)
            out = last;
        else if (!(length == 1 && *at == '.'))
            out = (char *)memmove(out, at, whole) + whole;
        at += whole;
    }
    *out = 0;
    return path;
}

/* realpath; memory of the caller. */
static char *real_path(const char *path) {
    char *resolved = realpath(path, NULL);
    if (!resolved && errno == ENOMEM)
        die(EXIT_INTERNAL, "the system has no memory to find %s", path);
    return resolved;
}

/* The index of the file with that resolved path: a new one unless it is known. Takes over the
 * texts. */
static int add(Sources *sources, char *path, char *resolved, char reason[SOURCE_REASON]) {
    for (int i = 0; i < sources->count; i++) {
        if (strcmp(sources->list[i].real, resolved)) continue;
        free(path);
        free(resolved);
        return i;
    }
    char *text = NULL;
    if (sources->count == SOURCE_COUNT)
        say(reason, "is one more than the %d files that a config may have", SOURCE_COUNT);
    else
        text = read_text(resolved, reason);
    if (!text) {
        free(path);
        free(resolved);
        return -1;
    }
    sources->list[sources->count] = (Source){.path = path, .real = resolved, .text = text};
    return sources->count++;
}

bool source_open(Sources *sources, const char *path, char reason[SOURCE_REASON]) {
    char *resolved = real_path(path);
    if (!resolved) {
        say(reason, "%s", strerror(errno));
        return false;
    }
    sources->project = find_project(resolved);
    return add(sources, copy_text(path), resolved, reason) >= 0;
}

void source_set(Sources *sources, const char *path, const char *text) {
    if (!sources->project) {
        char *resolved = real_path(path);
        sources->project = resolved ? find_project(resolved) : copy_text("/");
        free(resolved);
    }
    sources->list[sources->count++] = (Source){.path = copy_text(path),
                                               .real = copy_text(path),
                                               .text = copy_text(text),
                                               .places = places_scan("")};
}

static const char included[] = "-- included: ";

void source_recall(Sources *sources, const char *path, const char *texts) {
    sources->recalled = sources->count;
    char *name = format_text("%s: config", path);
    while (sources->count < SOURCE_COUNT) {
        const char *end = texts;
        while (*end && strncmp(end, included, strlen(included))) {
            end += strcspn(end, "\n");
            end += *end != 0;
        }
        char *text = format_text("%.*s", (int)(end - texts), texts);
        source_set(sources, name, text);
        free(text);
        free(name);
        name = NULL;
        if (!*end) break;
        end += strlen(included);
        texts = end + strcspn(end, "\n");
        name = format_text("%.*s", (int)(texts - end), end);
        texts += *texts != 0;
    }
    free(name);
}

/* The recalled text whose path ends as the name does. */
static int find_recalled(const Sources *sources, const char *name) {
    while (!strncmp(name, "../", 3) || !strncmp(name, "./", 2)) name += strcspn(name, "/") + 1;
    for (int i = sources->recalled + 1; i < sources->count; i++) {
        const char *path = sources->list[i].path;
        const size_t length = strlen(path), end = strlen(name);
        if (length < end || strcmp(path + length - end, name)) continue;
        if (length == end || path[length - end - 1] == '/') return i;
    }
    return -1;
}

/* The path with links resolved, or NULL with the reason. */
static char *resolve(const Sources *sources, const char *path, bool anywhere,
                     char reason[SOURCE_REASON]) {
    char *resolved = real_path(path);
    if (!resolved) {
        say(reason, "%s", strerror(errno));
    } else if (!anywhere && !inside(sources->project, resolved)) {
        say(reason, "lies outside of the project folder %s", sources->project);
        free(resolved);
        resolved = NULL;
    }
    return resolved;
}

static char *resolve_from(const Sources *sources, const char *folder, const char *name,
                          char reason[SOURCE_REASON]) {
    char *path = *name == '/' ? copy_text(name) : format_text("%s/%s", folder, name);
    char *resolved = resolve(sources, path, false, reason);
    free(path);
    return resolved;
}

int source_include(Sources *sources, int from, const char *name, char reason[SOURCE_REASON]) {
    for (int i = 0; i < sources->include_count; i++) {
        const Include *include = &sources->includes[i];
        if (include->from == from && !strcmp(include->name, name)) return include->to;
    }
    if (sources->include_count == INCLUDE_COUNT) {
        say(reason, "is one more than the %d includes that a config may have", INCLUDE_COUNT);
        return -1;
    }
    if (sources->recalled) {
        const int found = find_recalled(sources, name);
        if (found < 0) say(reason, "is not in the file");
        return found;
    }
    char *folder = folder_of(sources->list[from].real);
    char *resolved = resolve_from(sources, folder, name, reason);
    free(folder);
    if (!resolved) return -1;
    folder = folder_of(sources->list[from].path);
    int to = add(sources, join(folder, name), resolved, reason);
    free(folder);
    if (to >= 0) sources->includes[sources->include_count++] = (Include){from, to, copy_text(name)};
    return to;
}

char *source_path(const Sources *sources, const char *name, bool anywhere,
                  char reason[SOURCE_REASON]) {
    return anywhere ? resolve(sources, name, true, reason)
                    : resolve_from(sources, sources->project, name, reason);
}

unsigned char *source_bytes(const Sources *sources, const char *name, bool anywhere, char **path,
                            size_t *size, char reason[SOURCE_REASON]) {
    char *resolved = source_path(sources, name, anywhere, reason);
    if (!resolved) return NULL;
    char *bytes = read_file(resolved, SOURCE_BYTES, size, reason);
    const bool local = strcmp(sources->project, "/") && inside(sources->project, resolved);
    const size_t skip = local ? strlen(sources->project) + 1 : 0;
    if (bytes) *path = copy_text(resolved + skip);
    free(resolved);
    return (unsigned char *)bytes;
}

char *source_texts(const Sources *sources) {
    char *all = copy_text(sources->count ? sources->list[0].text : "");
    for (int i = 1; i < sources->count; i++) {
        size_t length = strlen(all);
        char *longer = format_text("%s%s%s%s\n%s", all,
                                   length && all[length - 1] != '\n' ? "\n" : "", included,
                                   sources->list[i].path, sources->list[i].text);
        free(all);
        all = longer;
    }
    return all;
}

void source_free(Sources *sources) {
    for (int i = 0; i < sources->count; i++) {
        free(sources->list[i].path);
        free(sources->list[i].real);
        free(sources->list[i].text);
        places_free(&sources->list[i].places);
    }
    for (int i = 0; i < sources->include_count; i++) free(sources->includes[i].name);
    free(sources->project);
    *sources = (Sources){0};
}
