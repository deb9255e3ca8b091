/* ./harness list: what there is, from the registries and the folders. */
#include "src/command/command.h"

#include "src/report/table.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void line(Table *table, const char *name, const char *summary) {
    table_cell(table, "%s", name);
    table_rest(table, "%s", summary);
}

static Table *two_columns(void) {
    Table *table = table_create();
    table_column(table, "", TABLE_LEFT);
    table_column(table, "", TABLE_LEFT);
    return table;
}

static void print(Table *table, const char *title, const Command *command) {
    const Terminal terminal = terminal_look(STDOUT_FILENO, command->color);
    printf("%s%s%s\n", terminal_bold(&terminal), title, terminal_plain(&terminal));
    table_print(table, stdout, &terminal);
    table_free(table);
}

/* Options of one kind: name, default, what is allowed, meaning. */
static void list_options(const Command *command, const char *name, const char *summary,
                         const char *source, const Option *options) {
    printf("%s: %s\n", name, summary);
    if (*source) printf("%s\n", source);
    if (!options || !options->name) {
        printf("no options\n");
        return;
    }
    KindOptions defaults;
    option_defaults(options, &defaults);
    Table *table = table_create();
    static const char *const titles[] = {"option", "default", "allowed", "meaning"};
    for (int i = 0; i < 4; i++) table_column(table, titles[i], TABLE_LEFT);
    for (const Option *o = options; o->name; o++) {
        char *value = option_format(o, &defaults), *allowed = option_allowed(o);
        table_cell(table, "%s", o->name);
        table_cell(table, "%s", value);
        table_cell(table, "%s", allowed);
        table_rest(table, "%s", o->doc);
        free(value);
        free(allowed);
    }
    const Terminal terminal = terminal_look(STDOUT_FILENO, command->color);
    putchar('\n');
    table_print(table, stdout, &terminal);
    table_free(table);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lua files of a folder, each with the comment that it opens with. */
static void list_folder(const Command *command, const char *path) {
    char *names[512];
    size_t count = 0;
    DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder && count < 512 && (entry = readdir(folder))) {
        const size_t length = strlen(entry->d_name);
        if (*entry->d_name != '.' && length > 4 && !strcmp(entry->d_name + length - 4, ".lua"))
            names[count++] = format_text("%s/%s", path, entry->d_name);
    }
    if (folder) closedir(folder);
    qsort(names, count, sizeof *names, by_name);
    Table *table = two_columns();
    for (size_t i = 0; i < count; i++) {
        char text[256] = "";
        FILE *file = fopen(names[i], "re");
        if (file && !fgets(text, sizeof text, file)) *text = 0;
        if (file) fclose(file);
        text[strcspn(text, "\n")] = 0;
        line(table, names[i], !strncmp(text, "-- ", 3) ? text + 3 : "");
        free(names[i]);
    }
    print(table, path, command);
}

static void list_encodings(const Command *command) {
    Table *table = two_columns();
    for (size_t i = 0; i < encoding_count; i++)
        line(table, encodings[i]->name, encodings[i]->summary);
    print(table, "encodings", command);
}
static void list_tasks(const Command *command) {
    Table *table = two_columns();
    for (size_t i = 0; i < tasks_count; i++) line(table, tasks[i]->name, tasks[i]->summary);
    print(table, "tasks", command);
}
static void list_positions(const Command *command) {
    Table *table = two_columns();
    for (size_t i = 0; i < position_source_count; i++)
        line(table, position_sources[i]->name, position_sources[i]->summary);
    print(table, "positions", command);
}
static void list_configs(const Command *command) { list_folder(command, "configs"); }
static void list_experiments(const Command *command) { list_folder(command, "experiments"); }

static const struct {
    const char *name;
    void (*list)(const Command *command);
} lists[] = {{"encodings", list_encodings},
             {"tasks", list_tasks},
             {"positions", list_positions},
             {"configs", list_configs},
             {"experiments", list_experiments}};

static int list_one(const Command *command, const char *what, const char *name) {
    const Encoding *encoding = !strcmp(what, "encodings") ? encoding_find(name) : NULL;
    const Task *task = !strcmp(what, "tasks") ? task_find(name) : NULL;
    const PositionSource *source =
        !strcmp(what, "positions") ? position_source_find(name) : NULL;
    if (encoding)
        list_options(command, name, encoding->summary, encoding->source, encoding->options);
    else if (task) list_options(command, name, task->summary, task->source, task->options);
    else if (source) list_options(command, name, source->summary, source->source, source->options);
    else command_usage("list %s: there is no %s", what, name);
    return EXIT_DONE;
}

int command_list(const Command *command) {
    if (command->word_count == 2) return list_one(command, command->words[0], command->words[1]);
    bool any = false;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (command->word_count && strcmp(command->words[0], lists[i].name)) continue;
        if (any) putchar('\n');
        lists[i].list(command);
        any = true;
    }
    if (!any) command_usage("list: there is no list of %s", command->words[0]);
    return EXIT_DONE;
}
