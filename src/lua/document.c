/* docs/CONFIG.md and the editor's annotations, written from the same tables that check a config. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lua/config.h"

/* The default as the docs show it, "" when there is none; memory of the caller. */
static char *default_text(const Option *option) {
    if (option->text) return copy_text(option->text);
    KindOptions fields = {0};
    Option one[2] = {*option, {0}};
    one->offset = 0;
    option_defaults(one, &fields);
    return option_format(one, &fields);
}

/* ---- Markdown -------------------------------------------------------------------------- */

/* A cell of a table, where '|' would end it. */
static void write_cell(FILE *to, const char *text) {
    for (; *text; text++) {
        if (*text == '|') fputc('\\', to);
        fputc(*text, to);
    }
}

static void write_row(FILE *to, const Option *option) {
    char *fallback = default_text(option), *allowed = option_allowed(option);
    const char *quote = *fallback ? "`" : "";
    fprintf(to, "| `%s` | %s%s%s | ", option->name, quote, fallback, quote);
    write_cell(to, allowed);
    fputs(" | ", to);
    write_cell(to, option->doc);
    fputs(" |\n", to);
    free(fallback);
    free(allowed);
}

static void write_table(FILE *to, const Option *table) {
    if (!table || !table->name) return;
    fputs("| key | default | allowed | meaning |\n|---|---|---|---|\n", to);
    for (const Option *option = table; option->name; option++) write_row(to, option);
    fputc('\n', to);
}

static void write_kinds(FILE *to, const ConfigKind *kind) {
    fprintf(to, "### %s%s%s: %s\n\n", kind->section, *kind->section ? "." : "", kind->name,
            kind->doc);
    if (kind->fallback)
        fprintf(to, "Default: `\"%s\"`.\n\n", kind->fallback);
    else
        fputs("Must be given.\n\n", to);
    for (size_t i = 0; i < *kind->count; i++) {
        Kind each = kind->kind(i);
        fprintf(to, "**`\"%s\"`**: %s.", each.name, each.summary);
        if (*each.source) fprintf(to, " Source: %s.", each.source);
        fputs("\n\n", to);
        write_table(to, each.options);
    }
}

static const char introduction[] =
    "# Config\n\n"
    "The keys of a config file. This page is written by the program from the tables that it\n"
    "checks configs with; a test compares the two.\n\n"
    "- A config is a Lua file that returns a table. Arithmetic, loops and local functions are at\n"
    "  hand, and `include \"base.lua\"` gives what another file of the project returns; the path\n"
    "  is relative to the file that includes. It may take a second and 64 MiB. There are no\n"
    "  patterns, no random numbers and no access to the system: the same file gives the same\n"
    "  values at every reading.\n"
    "- A kind is a name, or a table with the name first:\n"
    "  `encoding = { \"rope\", base = 500 }`.\n"
    "- On the command line: `model.width=256`, `model.encoding.base=500`, lists as\n"
    "  `evaluate.lengths=512,1024`, ranges as `train.length=64..128`, one stage's key as\n"
    "  `train.stages.2.steps=300`. They win over the file. Setting a kind drops the options\n"
    "  that the file gives to it.\n"
    "- A range of lengths is `{ from = 64, to = 128 }`.\n"
    "- A function is written in place: `encoding = { \"custom\", bias = function(head, distance)\n"
    "  return -distance / head end }`. Those that give numbers are called before training, for\n"
    "  every argument that the lengths of the config ask for, and may give at most 2^20 of them;\n"
    "  a last parameter `length` can be left out where the numbers do not depend on it.\n"
    "  `generate` of a custom task is called for each example, and may take a second for it.\n\n";

void config_write_markdown(FILE *to) {
    fputs(introduction, to);
    for (int s = 0; s < CONFIG_SECTIONS; s++) {
        const ConfigSection *section = &config_sections[s];
        fprintf(to, "## %s%s%s\n\n", section->name, *section->name ? ": " : "", section->doc);
        write_table(to, section->options);
        for (int k = 0; k < CONFIG_KINDS; k++)
            if (!strcmp(config_kinds[k].section, section->name)) write_kinds(to, &config_kinds[k]);
        if (strcmp(section->name, "train")) continue;
        fprintf(to,
                "### train.stages\n\n"
                "A list of 1 to %d tables, instead of `steps` and `length`. A stage has the keys\n"
                "below and may set any option of the task.\n\n",
                CONFIG_STAGES);
        write_table(to, stage_options);
    }
}

/* ---- annotations (LuaCATS) --------------------------------------------------------------- */

static void write_type(FILE *to, const Option *option) {
    char word[64];
    switch (option->type) {
    case OPTION_BOOLEAN: fputs("boolean", to); break;
    case OPTION_INTEGER: fputs("integer", to); break;
    case OPTION_NUMBER: fputs("number", to); break;
    case OPTION_SCHEDULE: fputs("number|fun(step: integer): number", to); break;
    case OPTION_STRING:
    case OPTION_FILE: fputs("string", to); break;
    case OPTION_INTEGERS: fputs("integer|integer[]", to); break;
    case OPTION_SPAN: fputs("integer|integer[]|{ from: integer, to: integer }", to); break;
    case OPTION_FUNCTION:
        fputs("fun(", to);
        for (int i = 0; *option_word(option->words, i, word); i++)
            fprintf(to, "%s%s: %s", i ? ", " : "", word,
                    strcmp(word, "rng") ? "integer" : "Harness.Random");
        fputs(strncmp(option->words, "rng", 3) ? "): number"
                                               : "): integer[], integer[], boolean[], integer[]?",
              to);
        break;
    case OPTION_CHOICE:
        for (int i = 0; *option_word(option->words, i, word); i++)
            fprintf(to, "%s\"%s\"", i ? "|" : "", word);
        break;
    }
}

static void write_fields(FILE *to, const Option *table) {
    for (const Option *option = table; option && option->name; option++) {
        char *fallback = default_text(option), *allowed = option_allowed(option);
        fprintf(to, "---@field %s? ", option->name);
        write_type(to, option);
        fprintf(to, " %s (%s%s%s)\n", option->doc, allowed, *fallback ? "; default " : "",
                fallback);
        free(fallback);
        free(allowed);
    }
}

/* "encoding" → "Harness.Encoding" */
static const char *class_name(const char *name, char text[64]) {
    snprintf(text, 64, "Harness.%c%s", toupper((unsigned char)*name), name + 1);
    return text;
}

static void write_kind_classes(FILE *to, const ConfigKind *kind) {
    char class[64];
    class_name(kind->name, class);
    for (size_t i = 0; i < *kind->count; i++) {
        Kind each = kind->kind(i);
        fprintf(to, "---%s\n---@class (exact) %s.%s\n---@field [1] \"%s\"\n", each.summary, class,
                each.name, each.name);
        write_fields(to, each.options);
        fputc('\n', to);
    }
    fprintf(to, "---@alias %s\n", class);
    for (size_t i = 0; i < *kind->count; i++)
        fprintf(to, "---| \"%s\"\n---| %s.%s\n", kind->kind(i).name, class, kind->kind(i).name);
    fputc('\n', to);
}

/* The options of every task, each name once: a stage may set those of the chosen one. */
static void write_stage_class(FILE *to) {
    fputs("---@class (exact) Harness.Stage\n", to);
    write_fields(to, stage_options);
    for (size_t t = 0; t < tasks_count; t++) {
        for (const Option *option = tasks[t]->options; option && option->name; option++) {
            bool again = false;
            for (size_t before = 0; before < t; before++)
                again |= option_find(tasks[before]->options, option->name) != NULL;
            if (!again) write_fields(to, (Option[2]){*option, {0}});
        }
    }
    fputc('\n', to);
}

static void write_section_class(FILE *to, const ConfigSection *section) {
    bool root = !*section->name;
    char class[64];
    fprintf(to, "---%s\n---@class (exact) %s\n", section->doc,
            class_name(root ? "config" : section->name, class));
    write_fields(to, section->options);
    for (int k = 0; k < CONFIG_KINDS; k++) {
        const ConfigKind *kind = &config_kinds[k];
        if (!strcmp(kind->section, section->name))
            fprintf(to, "---@field %s%s %s %s\n", kind->name, kind->fallback ? "?" : "",
                    class_name(kind->name, class), kind->doc);
    }
    if (!strcmp(section->name, "train"))
        fputs("---@field stages? Harness.Stage[] instead of steps and length\n", to);
    for (int s = 1; root && s < CONFIG_SECTIONS; s++)
        fprintf(to, "---@field %s? %s %s\n", config_sections[s].name,
                class_name(config_sections[s].name, class), config_sections[s].doc);
    fputc('\n', to);
}

void config_write_annotations(FILE *to) {
    fputs("---@meta\n-- Types of a config, for editors that know LuaCATS. Written by the program.\n"
          "-- Put ---@type Harness.Config above the table that a config returns.\n\n",
          to);
    fputs("---Random numbers of one example of a task.\n---@class Harness.Random\n"
          "---@field below fun(self: Harness.Random, n: integer): integer from 0 to n - 1\n"
          "---@field uniform fun(self: Harness.Random): number from [0, 1)\n\n",
          to);
    for (int k = 0; k < CONFIG_KINDS; k++) write_kind_classes(to, &config_kinds[k]);
    write_stage_class(to);
    for (int s = CONFIG_SECTIONS - 1; s >= 0; s--) write_section_class(to, &config_sections[s]);
    fputs("---What another file of the project returns; relative to this file.\n"
          "---@param path string\n---@return any\nfunction include(path) end\n",
          to);
}
