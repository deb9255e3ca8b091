#include "tests/config_text.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/base.h"

static char folder[64];
static Config config;
static Study study;
static Mistakes mistakes;

static void release(void) {
    config_free(&config);
    study_free(&study);
    free(mistakes.text);
    mistakes = (Mistakes){0};
}

void config_text_open(void) {
    strcpy(folder, "/tmp/config_text.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

void config_text_close(void) {
    char *command = format_text("rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
    free(command);
    release();
}

const char *config_text_write(const char *name, const char *text) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = strchr(path + strlen(folder) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

static bool load(const char *path, const char *overrides, bool several) {
    enum { MOST = 64 };
    const char *list[MOST];
    int count = 0;
    char *copy = copy_text(overrides);
    for (char *word = strtok(copy, " "); word && count < MOST; word = strtok(NULL, " "))
        list[count++] = word;
    release();
    bool good = several ? study_load(path, 0, count, list, &study, &mistakes)
                        : config_load(path, count, list, &config, &mistakes);
    ck_assert(good == !mistakes.text);
    ck_assert(good == !mistakes.count);
    free(copy);
    return good;
}

const Config *config_text_load_file(const char *path, const char *overrides) {
    ck_assert_msg(load(path, overrides, false), "%s", mistakes.text);
    return &config;
}

const Config *config_text_load(const char *text, const char *overrides) {
    return config_text_load_file(config_text_write("x.lua", text), overrides);
}

static const char *refusal(const char *path, const char *overrides, bool several) {
    ck_assert_msg(!load(path, overrides, several), "%s has no mistake", path);
    size_t length = strlen(folder);
    bool own = length && !strncmp(mistakes.text, folder, length);
    return mistakes.text + (own ? length + 1 : 0);
}

const char *config_text_refusal_of_file(const char *path, const char *overrides) {
    return refusal(path, overrides, false);
}

const char *config_text_refusal(const char *text, const char *overrides) {
    return config_text_refusal_of_file(config_text_write("x.lua", text), overrides);
}

const Study *config_text_study(const char *text, const char *overrides) {
    const char *path = config_text_write("x.lua", text);
    ck_assert_msg(load(path, overrides, true), "%s", mistakes.text);
    return &study;
}

const char *config_text_study_refusal_of_file(const char *path, const char *overrides) {
    return refusal(path, overrides, true);
}

const char *config_text_study_refusal(const char *text, const char *overrides) {
    return refusal(config_text_write("x.lua", text), overrides, true);
}

const char *config_text_source(const Config *from, const char *key) {
    static char rest[512];
    size_t length = strlen(key);
    *rest = 0;
    for (const char *line = from->sources; *line; line += strcspn(line, "\n") + 1)
        if (!strncmp(line, key, length) && !strncmp(line + length, "  ", 2))
            snprintf(rest, sizeof rest, "%.*s", (int)strcspn(line + length + 2, "\n"),
                     line + length + 2);
    char *own = *folder ? strstr(rest, folder) : NULL,
         *file = own ? own + strlen(folder) + 1 : NULL;
    if (own) memmove(own, file, strlen(file) + 1);
    return rest;
}
