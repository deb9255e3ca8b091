#include "src/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/json.h"
#include "src/sha256.h"

/* Keys that do not change a result: outside the hash. */
static const char *const outside[] = {"name", "train.log_every", "train.checkpoint_every",
                                      "train.snapshot_every",
                                      "train.init_from" /* train.init_sha256 is inside */};

/* Keys of train that every run says in its stages. */
static const char *const in_stages[] = {"train.steps", "train.length", "train.batch"};

typedef struct {
    const Config *config;
    Json json;
    bool whole; /* false: without the keys `outside` */
} Writer;

/* ---- JSON ------------------------------------------------------------------------------ */

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_names(ConfigNames *names) {
    qsort(names->list, (size_t)names->count, sizeof *names->list, compare_names);
}

static bool listed(const char *key, const char *const *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!strcmp(key, list[i])) return true;
    return false;
}

bool identity_ignores(const char *key) {
    return listed(key, outside, sizeof outside / sizeof *outside);
}

static void write_integers(Json *json, const IntegerList *list) {
    json_open(json, '[');
    for (int i = 0; i < list->count; i++) json_integer(json, list->values[i]);
    json_close(json, ']');
}

static void write_span(Json *json, const Span *span) {
    if (span->range) {
        json_open(json, '{');
        json_key(json, "from");
        json_integer(json, span->list.values[0]);
        json_key(json, "to");
        json_integer(json, span->list.values[1]);
        json_close(json, '}');
    } else if (span->list.count == 1) {
        json_integer(json, span->list.values[0]);
    } else {
        write_integers(json, &span->list);
    }
}

static void write_hash(Json *json, const char *sha256) {
    json_open(json, '{');
    json_key(json, "sha256");
    json_text(json, sha256);
    json_close(json, '}');
}

static const Function *function_of(const Option *option, const void *options) {
    return *(const Function *const *)((const char *)options + option->offset);
}

static void write_schedule(Writer *writer, double constant) {
    const double *schedule = writer->config->train.schedule;
    if (!schedule) {
        json_number(&writer->json, constant);
        return;
    }
    char hash[65];
    sha256_text(schedule, (size_t)writer->config->train.total_steps * sizeof *schedule, hash);
    write_hash(&writer->json, hash);
}

static void write_file(Json *json, const File *file) {
    json_open(json, '{');
    json_key(json, "path");
    json_text(json, file->path);
    json_key(json, "sha256");
    json_text(json, file->sha256);
    json_close(json, '}');
}

static void write_option(Writer *writer, const Option *option, const void *options) {
    const void *field = (const char *)options + option->offset;
    Json *json = &writer->json;
    char word[64];
    switch (option->type) {
    case OPTION_BOOLEAN: json_boolean(json, *(const bool *)field); break;
    case OPTION_INTEGER: json_integer(json, *(const int64_t *)field); break;
    case OPTION_NUMBER: json_number(json, *(const double *)field); break;
    case OPTION_CHOICE:
        json_text(json, option_word(option->words, *(const int *)field, word));
        break;
    case OPTION_STRING: json_text(json, field); break;
    case OPTION_FILE: write_file(json, field); break;
    case OPTION_INTEGERS: write_integers(json, field); break;
    case OPTION_SPAN: write_span(json, field); break;
    case OPTION_SCHEDULE: write_schedule(writer, *(const double *)field); break;
    case OPTION_FUNCTION: write_hash(json, function_of(option, options)->sha256); break;
    }
}

/* { options }, with "kind" among them where it is given. */
static void write_options(Writer *writer, const char *kind, const Option *table,
                          const void *options) {
    ConfigNames names = {0};
    config_add_options(&names, table);
    if (kind) config_add_name(&names, "kind");
    sort_names(&names);
    json_open(&writer->json, '{');
    for (int i = 0; i < names.count; i++) {
        const Option *option = option_find(table, names.list[i]);
        if (option && option->type == OPTION_FUNCTION && !function_of(option, options)) continue;
        json_key(&writer->json, names.list[i]);
        if (option)
            write_option(writer, option, options);
        else
            json_text(&writer->json, kind);
    }
    json_close(&writer->json, '}');
}

static const Option *kind_options(const Config *config, const ConfigKind *kind) {
    return kind->kind((size_t)config_kind_index(kind, kind->chosen(config))).options;
}

static void write_kind(Writer *writer, const ConfigKind *kind) {
    write_options(writer, kind->chosen(writer->config), kind_options(writer->config, kind),
                  (const char *)writer->config + kind->options);
}

static void write_stages(Writer *writer) {
    Json *json = &writer->json;
    const Config *config = writer->config;
    json_open(json, '[');
    for (int s = 0; s < config->train.stage_count; s++) {
        const Stage *stage = &config->train.stages[s];
        json_open(json, '{');
        json_key(json, "batch");
        json_integer(json, stage->batch);
        json_key(json, "length");
        write_span(json, &stage->length);
        json_key(json, "steps");
        json_integer(json, stage->steps);
        json_key(json, "task");
        write_options(writer, NULL, config->task->options, &stage->task_options);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void write_section(Writer *writer, const ConfigSection *section) {
    bool root = section == config_sections;
    ConfigNames names = config_section_names(section);
    sort_names(&names);

    json_open(&writer->json, '{');
    for (int i = 0; i < names.count; i++) {
        const char *name = names.list[i];
        const Option *option = option_find(section->options, name);
        const ConfigKind *kind = config_find_kind(section->name, name);
        char key[128];
        snprintf(key, sizeof key, "%s%s%s", section->name, root ? "" : ".", name);
        if (listed(key, in_stages, sizeof in_stages / sizeof *in_stages)) continue;
        if (!writer->whole && identity_ignores(key)) continue;

        json_key(&writer->json, name);
        if (option) write_option(writer, option, writer->config);
        if (kind) write_kind(writer, kind);
        if (!strcmp(key, "train.stages")) write_stages(writer);
        for (int s = 1; root && s < CONFIG_SECTIONS; s++)
            if (!strcmp(name, config_sections[s].name)) write_section(writer, &config_sections[s]);
    }
    json_close(&writer->json, '}');
}

static char *json_of(const Config *config, bool whole) {
    Writer writer = {.config = config, .whole = whole};
    write_section(&writer, config_sections);
    return writer.json.text;
}

/* ---- sources --------------------------------------------------------------------------- */

typedef struct {
    const Config *config;
    FILE *to;
    IdentityPlace *place;
    void *context;
} Sources;

static bool given(const Sources *sources, const char *key) {
    return sources->place(sources->context, key) != NULL;
}

static void source_line(const Sources *sources, const char *key, const char *value) {
    const char *place = sources->place(sources->context, key);
    fprintf(sources->to, "%s  %s  %s\n", key, value, place ? place : "default");
}

/* The options of a table under `prefix`; only those that the user gave, when given_only. */
static void source_options(const Sources *sources, const char *prefix, const Option *table,
                           const void *options, bool given_only) {
    for (const Option *option = table; option && option->name; option++) {
        char key[256];
        snprintf(key, sizeof key, "%s%s%s", prefix, *prefix ? "." : "", option->name);
        bool quiet = given_only || listed(key, in_stages, sizeof in_stages / sizeof *in_stages);
        if (option->type == OPTION_FUNCTION) quiet = true;
        if (quiet && !given(sources, key)) continue;
        bool tabulated = option->type == OPTION_SCHEDULE && sources->config->train.schedule;
        char *value = tabulated ? copy_text("function") : option_format(option, options);
        source_line(sources, key, value);
        free(value);
    }
}

static void source_stages(const Sources *sources) {
    const Config *config = sources->config;
    for (int s = 0; s < config->train.stage_count; s++) {
        const Stage *stage = &config->train.stages[s];
        char prefix[64];
        snprintf(prefix, sizeof prefix, "train.stages.%d", s + 1);
        source_options(sources, prefix, stage_options, stage, true);
        source_options(sources, prefix, config->task->options, &stage->task_options, true);
    }
}

static char *sources_of(const Config *config, IdentityPlace *place, void *context) {
    char *text = NULL;
    size_t size;
    Sources sources = {config, memory_open(&text, &size), place, context};
    for (int s = 0; s < CONFIG_SECTIONS; s++) {
        const ConfigSection *section = &config_sections[s];
        source_options(&sources, section->name, section->options, config, false);
        for (int k = 0; k < CONFIG_KINDS; k++) {
            const ConfigKind *kind = &config_kinds[k];
            if (strcmp(kind->section, section->name)) continue;
            char key[128], value[128];
            snprintf(key, sizeof key, "%s%s%s", section->name, s ? "." : "", kind->name);
            snprintf(value, sizeof value, "\"%s\"", kind->chosen(config));
            source_line(&sources, key, value);
            source_options(&sources, key, kind_options(config, kind),
                           (const char *)config + kind->options, false);
        }
        if (!strcmp(section->name, "train")) source_stages(&sources);
    }
    memory_close(sources.to);
    return text;
}

void identity_fill(Config *config, IdentityPlace *place, void *context) {
    char *hashed = json_of(config, false), digits[65];
    sha256_text(hashed, strlen(hashed), digits);
    free(hashed);
    config->resolved_json = json_of(config, true);
    config->sources = sources_of(config, place, context);
    config->sha256 = copy_text(digits);
    config->id =
        format_text("%s-s%lld-%.6s", config->model.encoding->name, (long long)config->seed, digits);
}
