#include "src/start.h"

#include "src/lua/config.h"
#include "src/store/store.h"
#include "src/train.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char sentence[512];

static bool no(const char *format, ...) PRINTF_LIKE(1, 2);
static bool no(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return false;
}

static const Parameter *find(const Model *model, const char *name) {
    for (int i = 0; i < model->parameter_count; i++)
        if (!strcmp(model->parameters[i].name, name)) return &model->parameters[i];
    return NULL;
}

/* "[64, 128]" */
static const char *shape_text(const Parameter *p, char text[96]) {
    size_t used = (size_t)snprintf(text, 96, "[");
    for (int axis = 0; axis < p->rank; axis++)
        used += (size_t)snprintf(text + used, 96 - used, axis ? ", %zu" : "%zu", p->dims[axis]);
    snprintf(text + used, 96 - used, "]");
    return text;
}

/* Whether the encoding can fill the longer table from the shorter one. */
static bool grows(const Model *from, const Model *to, const Parameter *old, const Parameter *p) {
    bool same = old->rank == p->rank && p->counts_rows && to->shape.encoding->extend &&
                from->shape.encoding == to->shape.encoding && old->dims[0] < p->dims[0];
    for (int axis = 1; axis < p->rank; axis++) same &= old->dims[axis] == p->dims[axis];
    return same;
}

static bool read_values(StoreReader *reader, const Parameter *p, real *values) {
    char *path = format_text("/parameters/%s", p->name);
    const bool good = store_read(reader, path, STORE_REAL, p->rank, p->dims, values) ||
                      no("%s", store_reason(reader));
    free(path);
    return good;
}

/* One parameter of the model: checked, and read where the model has values. */
static bool take(StoreReader *reader, const Model *from, Model *to, const Parameter *p) {
    const Parameter *old = find(from, p->name);
    if (!old) return no("has no parameter %s, which this model has", p->name);
    real *values = to->values ? to->values + p->offset : NULL;
    if (old->rank == p->rank && !memcmp(old->dims, p->dims, (size_t)p->rank * sizeof *p->dims))
        return !values || read_values(reader, old, values);
    if (!grows(from, to, old, p)) {
        char there[96], here[96];
        return no("its %s is %s, that of this model %s", p->name, shape_text(old, there),
                  shape_text(p, here));
    }
    if (!values) return true;
    real *shorter = ALLOCATE(old->count, real);
    const bool good = read_values(reader, old, shorter);
    if (good)
        to->shape.encoding->extend(&from->encoding_shape, &to->encoding_shape, p->encoding_index,
                                   shorter, values);
    free(shorter);
    return good;
}

/* Weights have learned which channels are pairs: another layout makes noise of them. */
static bool same_layout(const Model *from, const Model *to) {
    const Encoding *encoding = to->shape.encoding;
    const Option *layout = option_find(encoding->options, "layout");
    if (!layout || from->shape.encoding != encoding) return true;
    const int *there = (const int *)((const char *)from->shape.encoding_options + layout->offset);
    const int *here = (const int *)((const char *)to->shape.encoding_options + layout->offset);
    char old[64], new[64];
    return *there == *here || no("was trained with layout = %s, this model has layout = %s",
                                 option_word(layout->words, *there, old),
                                 option_word(layout->words, *here, new));
}

/* Heads are no axis of most weights, but weights have learned which channels make a head. */
static bool take_all(StoreReader *reader, const Model *from, Model *to) {
    if (from->shape.heads != to->shape.heads)
        return no("was trained with %d heads, this model has %d", from->shape.heads,
                  to->shape.heads);
    for (int i = 0; i < from->parameter_count; i++) {
        const Parameter *old = &from->parameters[i];
        if (old->encoding_index < 0 && !find(to, old->name))
            return no("has a parameter %s, which this model has not", old->name);
    }
    for (int i = 0; i < to->parameter_count; i++)
        if (!take(reader, from, to, &to->parameters[i])) return false;
    return same_layout(from, to);
}

static bool read_model(StoreReader *reader, const char *path, Model *to) {
    char *json = store_read_text(reader, "/config/resolved_json");
    char *lua = json ? store_read_text(reader, "/config/lua") : NULL;
    if (!lua) {
        free(json);
        return no("%s", store_reason(reader));
    }
    Config base;
    Mistakes mistakes;
    const bool known = config_load_json(json, lua, path, 0, NULL, &base, &mistakes);
    free(json);
    free(lua);
    if (!known) {
        no("its config is not one of this program: %.*s", (int)strcspn(mistakes.text, "\n"),
           mistakes.text);
        free(mistakes.text);
        return false;
    }
    const ModelShape shape = train_shape(&base);
    Model *from = model_describe(&shape);
    const bool good = take_all(reader, from, to);
    model_free(from);
    config_free(&base);
    return good;
}

const char *start_read(const Config *config, Model *model) {
    const char *path = config->train.init_from, *reason;
    if (!*path) return NULL;
    StoreReader *reader = store_open(path, &reason);
    if (!reader) return reason;
    const bool good = read_model(reader, path, model);
    store_close(reader);
    return good ? NULL : sentence;
}

const char *start_refuse(const Config *config) {
    if (!*config->train.init_from) return NULL;
    const char *reason = store_verify(config->train.init_from);
    if (reason) return reason;
    const ModelShape shape = train_shape(config);
    Model *described = model_describe(&shape);
    reason = start_read(config, described);
    model_free(described);
    return reason;
}

void start_check(const Config *config) {
    const char *reason = start_refuse(config);
    if (!reason) return;
    /* Where the file was given is the last column of its line among the sources. */
    const char *line = strstr(config->sources, "\ntrain.init_from  ");
    CHECK(line, "train.init_from has no source");
    const char *end = line + 1 + strcspn(line + 1, "\n"), *place = end;
    while (place[-1] != ' ' || place[-2] != ' ') place--;
    die(EXIT_USAGE, "%.*s: train.init_from: %s: %s", (int)(end - place), place,
        config->train.init_from, reason);
}
