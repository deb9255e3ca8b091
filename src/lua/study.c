/* return study { ... } and sweeps of the command line → cells. Every cell is a copy of the base
   config in which the values of the cell are set, as overrides of the command line are, and is then
   read like a config of its own.

   The order of cells is fixed: seeds outermost, so that a study that was stopped has seen every
   encoding once; then list, zip, the keys of the grid by name, sweeps of the command line, rates.
   The last turns fastest. */
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/json.h"
#include "src/lua/expansion.h"

static const char *const seeds[] = {"seed", "init_seed", "data_seed"};
static const char rate_key[] = "train.learning_rate";

/* ---- values as text ------------------------------------------------------------------------ */

static char *join(char *text, const char *gap, char *more) {
    char *longer = format_text("%s%s%s", text, *text && *more ? gap : "", more);
    free(text);
    free(more);
    return longer;
}

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int table_names(lua_State *L, const char *names[CONFIG_NAMES]) {
    int count = 0;
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
        if (lua_type(L, -2) == LUA_TSTRING && count < CONFIG_NAMES)
            names[count++] = lua_tostring(L, -2);
    qsort(names, (size_t)count, sizeof *names, compare_texts);
    return count;
}

static char *text_within(lua_State *L, int depth) {
    char number[32];
    if (lua_type(L, -1) == LUA_TSTRING) return copy_text(lua_tostring(L, -1));
    if (lua_type(L, -1) == LUA_TNUMBER)
        return copy_text(json_number_text(lua_tonumber(L, -1), number));
    if (lua_isfunction(L, -1)) {
        lua_Debug at;
        lua_pushvalue(L, -1);
        lua_getinfo(L, ">S", &at);
        return format_text("function of line %d", at.linedefined);
    }
    if (!lua_istable(L, -1)) return reader_value_text(L);
    if (depth == 4 || !lua_checkstack(L, 8)) return copy_text("...");
    char *text = copy_text("");
    const int count = (int)least(lua_rawlen(L, -1), OPTION_LIST_SIZE);
    for (int i = 1; i <= count; i++, lua_pop(L, 1)) {
        lua_rawgeti(L, -1, i);
        text = join(text, ",", text_within(L, depth + 1));
    }
    const char *names[CONFIG_NAMES];
    const int named = table_names(L, names);
    for (int i = 0; i < named; i++, lua_pop(L, 1)) {
        lua_getfield(L, -1, names[i]);
        char *value = text_within(L, depth + 1);
        text = join(text, " ", format_text("%s=%s", names[i], value));
        free(value);
    }
    return text;
}

char *value_text(lua_State *L) {
    return text_within(L, 0);
}

/* ---- points and axes ----------------------------------------------------------------------- */

static bool is_seed(const char *key) {
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        if (!strcmp(key, seeds[i])) return true;
    return false;
}

/* Kinds are told by their value alone, the rest with the last part of their key. */
static void label_point(Point *point) {
    if (point->label) return;
    point->label = copy_text("");
    for (int i = 0; i < point->count; i++) {
        const Value *value = &point->values[i];
        const ConfigKind *kind;
        if (is_seed(value->key)) continue;
        override_option(value->key, &kind);
        const char *dot = strrchr(value->key, '.');
        point->label = join(point->label, " ",
                            kind ? copy_text(value->text)
                                 : format_text("%s=%s", dot ? dot + 1 : value->key, value->text));
    }
}

static void free_value(Value *value) {
    free(value->key);
    free(value->text);
    free(value->place);
    free(value->command);
}

static void free_point(Point *point) {
    for (int i = 0; i < point->count; i++) free_value(&point->values[i]);
    free(point->values);
    free(point->label);
}

static void free_axis(Axis *axis) {
    for (int p = 0; p < axis->count; p++) free_point(&axis->points[p]);
    free(axis->points);
    *axis = (Axis){0};
}

/* NULL after a mistake. */
static Axis *add_axis(Expansion *e, const char *place, int count, int values) {
    if (e->axis_count == STUDY_AXES || count > STUDY_CELLS) {
        reader_mistake_at(e->reader, place, "more than %d values, or %d keys", STUDY_CELLS,
                          STUDY_AXES);
        return NULL;
    }
    Axis *axis = &e->axes[e->axis_count++];
    *axis = (Axis){.count = count, .points = ALLOCATE((size_t)count, Point)};
    snprintf(axis->place, sizeof axis->place, "%s", place);
    for (int p = 0; values && p < count; p++)
        axis->points[p] = (Point){.count = values, .values = ALLOCATE((size_t)values, Value)};
    return axis;
}

/* The Lua value on top of the stack, which stays. */
static Value hold(Expansion *e, const char *key, const char *place) {
    lua_State *L = e->reader->L;
    Value value = {.key = copy_text(key), .text = value_text(L), .place = copy_text(place)};
    lua_pushvalue(L, -1);
    value.held = luaL_ref(L, LUA_REGISTRYINDEX);
    return value;
}

/* ---- the table of a study ------------------------------------------------------------------ */

/* The number of values of the list on top of the stack; 0 after a mistake. */
static int list_length(Expansion *e, const char *place) {
    lua_State *L = e->reader->L;
    int count = lua_istable(L, -1) ? reader_sequence(L, STUDY_CELLS) : -1;
    if (count > 0) return count;
    if (!count) {
        reader_mistake_at(e->reader, place, "an empty list");
        return 0;
    }
    char *value = reader_value_text(L);
    reader_mistake_at(e->reader, place, "got %s; expected a list of values: { 1, 2, 3 }%s", value,
                      lua_istable(L, -1) ? ", or { { \"rope\", base = 500 } }" : "");
    free(value);
    return 0;
}

/* Whether a key may be varied. */
static bool check_key(Expansion *e, const char *place, const char *key) {
    const char *problem = strlen(key) > 100     ? "a key of more than 100 letters"
                          : !strcmp(key, "name") ? "the study names its runs"
                                                 : NULL;
    if (problem) reader_mistake_at(e->reader, place, "%s", problem);
    return !problem;
}

/* The list of values of one key, on top of the stack → values[at] of the axis's points. */
static void fill_axis(Expansion *e, Axis *axis, int at, const char *place, const char *key) {
    for (int p = 0; p < axis->count; p++) {
        char element[KEY_SIZE];
        snprintf(element, sizeof element, "%.200s.%d", place, p + 1);
        lua_rawgeti(e->reader->L, -1, p + 1);
        axis->points[p].values[at] = hold(e, key, element);
        lua_pop(e->reader->L, 1);
    }
}

/* grid (an axis a key) or zip (one axis) on top of the stack. */
static void read_grid(Expansion *e, const char *name, bool zip) {
    lua_State *L = e->reader->L;
    const char *names[CONFIG_NAMES];
    if (!lua_istable(L, -1)) {
        reader_mistake_at(e->reader, name, "expected { [\"model.encoding\"] = { ... }, ... }");
        return;
    }
    const int count = table_names(L, names);
    if (!count || lua_rawlen(L, -1))
        reader_mistake_at(e->reader, name, count ? "a value without a key" : "holds no key");
    Axis *zipped = NULL;
    for (int i = 0; i < count; i++) {
        char place[KEY_SIZE];
        snprintf(place, sizeof place, "%s.%.200s", name, names[i]);
        lua_getfield(L, -1, names[i]);
        const int values = check_key(e, place, names[i]) ? list_length(e, place) : 0;
        Axis *axis = zipped;
        if (values && !axis) axis = add_axis(e, zip ? name : place, values, zip ? count : 1);
        if (values && axis && values != axis->count)
            reader_mistake_at(e->reader, place, "%d values beside %d of another key", values,
                              axis->count);
        else if (values && axis) fill_axis(e, axis, zip ? i : 0, place, names[i]);
        if (zip && axis) zipped = axis;
        lua_pop(L, 1);
    }
}

/* { ["model.encoding"] = "rope", label = "..." } on top of the stack. */
static void read_list_point(Expansion *e, Point *point, const char *place) {
    lua_State *L = e->reader->L;
    const char *names[CONFIG_NAMES];
    const int count = lua_istable(L, -1) ? table_names(L, names) : 0;
    if (!count || lua_rawlen(L, -1)) {
        reader_mistake_at(e->reader, place, "expected { [\"model.encoding\"] = \"rope\", ... }");
        return;
    }
    point->values = ALLOCATE((size_t)count, Value);
    for (int i = 0; i < count; i++, lua_pop(L, 1)) {
        char at[KEY_SIZE];
        snprintf(at, sizeof at, "%.64s.%.180s", place, names[i]);
        lua_getfield(L, -1, names[i]);
        if (strcmp(names[i], "label") != 0) {
            if (check_key(e, at, names[i])) point->values[point->count++] = hold(e, names[i], at);
        } else if (lua_type(L, -1) == LUA_TSTRING && *lua_tostring(L, -1)) {
            point->label = copy_text(lua_tostring(L, -1));
            point->named = true;
        } else {
            reader_mistake_at(e->reader, at, "expected a text");
        }
    }
}

static void read_list(Expansion *e) {
    const int count = list_length(e, "list");
    Axis *axis = count ? add_axis(e, "list", count, 0) : NULL;
    for (int p = 0; axis && p < count; p++) {
        char place[32];
        snprintf(place, sizeof place, "list.%d", p + 1);
        lua_rawgeti(e->reader->L, -1, p + 1);
        read_list_point(e, &axis->points[p], place);
        lua_pop(e->reader->L, 1);
    }
}

static void read_rates(Expansion *e) {
    Study *study = e->study;
    const int count = list_length(e, "rates");
    if (!count) return;
    if (count > OPTION_LIST_SIZE) {
        reader_mistake_at(e->reader, "rates", "more than %d values", OPTION_LIST_SIZE);
        return;
    }
    Axis *axis = add_axis(e, "rates", count, 1);
    if (!axis) return;
    axis->rates = true;
    fill_axis(e, axis, 0, "rates", rate_key);
    for (int r = 0; r < count; r++) {
        lua_rawgeti(e->reader->L, -1, r + 1);
        study->rates[r] = lua_tonumber(e->reader->L, -1);
        if (lua_type(e->reader->L, -1) != LUA_TNUMBER)
            reader_mistake_at(e->reader, axis->points[r].values[0].place, "expected a number");
        lua_pop(e->reader->L, 1);
    }
    study->rate_count = count;
}

static const char *const study_keys[] = {"name", "base", "grid", "list", "zip", "rates", "claims"};
enum { STUDY_KEYS = sizeof study_keys / sizeof *study_keys };

bool study_has_key(const char *name) {
    for (int k = 0; k < STUDY_KEYS; k++)
        if (!strcmp(name, study_keys[k])) return true;
    return false;
}

static void check_study_keys(Expansion *e) {
    lua_State *L = e->reader->L;
    const char *names[CONFIG_NAMES];
    const int count = table_names(L, names);
    for (int i = 0; i < count; i++) {
        if (study_has_key(names[i])) continue;
        char key[KEY_SIZE];
        snprintf(key, sizeof key, "%.64s", names[i]);
        const char *near = mistake_nearest(names[i], STUDY_KEYS, study_keys);
        if (near) reader_mistake_at(e->reader, key, "unknown key; did you mean %s?", near);
        else
            reader_mistake_at(e->reader, key, "unknown key; a study has name, base, grid, list, "
                                              "zip, rates, claims");
    }
    if (lua_rawlen(L, -1)) reader_mistake_at(e->reader, "1", "a value without a key");
}

/* Pushes a value of the study; false (nothing pushed) where there is none. */
static bool get(Expansion *e, const char *name) {
    lua_pushstring(e->reader->L, name);
    if (lua_rawget(e->reader->L, -2) != LUA_TNIL) return true;
    lua_pop(e->reader->L, 1);
    return false;
}

/* The study on top of the stack. */
static void read_study(Expansion *e) {
    lua_State *L = e->reader->L;
    check_study_keys(e);
    if (get(e, "name")) {
        if (lua_type(L, -1) != LUA_TSTRING)
            reader_mistake_at(e->reader, "name", "expected a text");
        else e->study->name = copy_text(lua_tostring(L, -1));
        lua_pop(L, 1);
    }
    const bool base = get(e, "base");
    if (!base || !lua_istable(L, -1) || sandbox_is_study(L)) {
        reader_mistake_at(e->reader, base ? "base" : "",
                          "expected a config: base = include \"...\", or base = { ... }");
        return;
    }
    e->base = luaL_ref(L, LUA_REGISTRYINDEX);
    const bool list = get(e, "list");
    if (list) read_list(e);
    if (list) lua_pop(L, 1);
    const bool zip = get(e, "zip");
    if (zip) read_grid(e, "zip", true);
    if (zip) lua_pop(L, 1);
    const bool grid = get(e, "grid");
    if (grid) read_grid(e, "grid", false);
    if (grid) lua_pop(L, 1);
    const bool rates = get(e, "rates");
    if (rates) read_rates(e);
    if (rates) lua_pop(L, 1);
    if (!grid && !list && !zip && !rates)
        reader_mistake_at(e->reader, "", "a study varies something: grid, list, zip or rates");
    if (get(e, "claims")) e->claims = luaL_ref(L, LUA_REGISTRYINDEX);
}

/* ---- sweeps of the command line ------------------------------------------------------------ */

/* Whether KEY=VALUE holds several values for a key that takes one. */
static bool is_sweep(const char *text) {
    const char *value = strchr(text, '=');
    const size_t length = value ? (size_t)(value - text) : 0;
    if (!length || length >= KEY_SIZE) return false;
    if (!strchr(value, ',') && !strstr(value, "..")) return false;
    char key[KEY_SIZE];
    snprintf(key, sizeof key, "%.*s", (int)length, text);
    const ConfigKind *kind;
    const Option *option = override_option(key, &kind);
    if (kind) return strchr(value, ',') != NULL;
    return option && option->type != OPTION_INTEGERS && option->type != OPTION_SPAN &&
           option->type != OPTION_STRING && option->type != OPTION_FILE;
}

/* "1..5" → the ends. */
static bool is_range(const char *text, size_t length, long long *from, long long *to) {
    char copy[64];
    int end = 0;
    if (length >= sizeof copy) return false;
    snprintf(copy, sizeof copy, "%.*s", (int)length, text);
    return sscanf(copy, "%lld..%lld%n", from, to, &end) == 2 && end == (int)length;
}

static void put_swept(Point *point, const char *key, const char *value, size_t length, int index) {
    char *text = format_text("%.*s", (int)length, value);
    point->values[0] = (Value){.key = copy_text(key),
                               .text = text,
                               .place = copy_text(""),
                               .command = format_text("%s=%s", key, text),
                               .index = index};
}

/* The values of "rope,alibi" or "1..3,7" → points, where they are given; returns their number, and
   says in *problem what is wrong. */
static long long sweep_values(const char *key, const char *text, int index, Point *points,
                              const char **problem) {
    long long count = 0, from, to;
    for (const char *at = text; at;) {
        const size_t length = strcspn(at, ",");
        const bool range = is_range(at, length, &from, &to);
        if (!length) *problem = "an empty value";
        if (!range) from = to = 0;
        if (from > to) *problem = "a range that holds nothing";
        if (to - from > STUDY_CELLS) *problem = "too many values";
        if (*problem) return 0;
        for (long long i = from; i <= to; i++, count++) {
            char number[32];
            snprintf(number, sizeof number, "%lld", i);
            if (points && range) put_swept(&points[count], key, number, strlen(number), index);
            else if (points) put_swept(&points[count], key, at, length, index);
        }
        at = at[length] ? at + length + 1 : NULL;
    }
    return count;
}

static void read_sweep(Expansion *e, const char *text, int index) {
    const char *value = strchr(text, '=') + 1, *problem = NULL;
    char *key = format_text("%.*s", (int)(value - 1 - text), text);
    const long long count = sweep_values(key, value, index, NULL, &problem);
    if (!problem && count > STUDY_CELLS) problem = "too many values";
    Axis *axis = problem ? NULL : add_axis(e, text, (int)count, 1);
    if (axis) sweep_values(key, value, index, axis->points, &problem);
    if (problem)
        mistake_add(&e->reader->mistakes, MISTAKE_COMMAND_LINE, index,
                    format_text("command line: %s: %s", text, problem));
    free(key);
}

static bool same_point(const Point *a, const Point *b) {
    bool same = a->count == b->count;
    for (int i = 0; same && i < a->count; i++)
        same = !strcmp(a->values[i].key, b->values[i].key) &&
               !strcmp(a->values[i].text, b->values[i].text);
    return same;
}

/* Removes a key, whose name has that many letters, from a point; its label no longer says what it
   is. False: the point has no such key. */
static bool remove_key(Point *point, const char *name, size_t length) {
    for (int i = 0; i < point->count; i++) {
        const char *key = point->values[i].key;
        if (strlen(key) != length || strncmp(key, name, length) != 0) continue;
        free_value(&point->values[i]);
        point->count--;
        memmove(point->values + i, point->values + i + 1,
                (size_t)(point->count - i) * sizeof *point->values);
        free(point->label);
        point->label = NULL;
        point->named = false;
        return true;
    }
    return false;
}

/* Of points that are the same the first is kept. One without values stands for the base. */
static void merge_points(Axis *axis) {
    int kept = 0;
    for (int p = 0; p < axis->count; p++) {
        int twin = 0;
        while (twin < kept && !same_point(&axis->points[twin], &axis->points[p])) twin++;
        if (twin < kept) free_point(&axis->points[p]);
        else axis->points[kept++] = axis->points[p];
    }
    axis->count = kept;
}

/* Forgets what the axes of the file set for a key of the command line, "KEY=VALUE". */
static void override_axes(Expansion *e, const char *text) {
    const size_t length = strcspn(text, "=");
    for (int a = 0; a < e->axis_count; a++) {
        Axis *axis = &e->axes[a];
        bool changed = false;
        for (int p = 0; p < axis->count; p++)
            changed = remove_key(&axis->points[p], text, length) || changed;
        if (changed) merge_points(axis);
        if (!changed || axis->count > 1 || axis->points[0].count) continue;
        if (axis->rates) e->study->rate_count = 0;
        free_axis(axis);
        e->axis_count--;
        memmove(axis, axis + 1, (size_t)(e->axis_count - a) * sizeof *axis);
        a--;
    }
}

static int axis_rank(const Axis *axis) {
    const Point *point = &axis->points[0];
    return point->count == 1 && !strcmp(point->values[0].key, "seed") ? 0 : axis->rates ? 2 : 1;
}

/* Seeds first and rates last, the others as they are. */
static void sort_axes(Expansion *e) {
    for (int i = 1; i < e->axis_count; i++)
        for (int j = i; j > 0 && axis_rank(&e->axes[j - 1]) > axis_rank(&e->axes[j]); j--) {
            const Axis moved = e->axes[j];
            e->axes[j] = e->axes[j - 1];
            e->axes[j - 1] = moved;
        }
}

/* ---- what is there twice ------------------------------------------------------------------- */

static void check_twice(Expansion *e, const Axis *axis) {
    for (int p = 0; p < axis->count; p++)
        for (int q = 0; q < p; q++) {
            const Point *point = &axis->points[p];
            const Value *value = point->values;
            const bool same = same_point(point, &axis->points[q]);
            if (same && value->command)
                mistake_add(&e->reader->mistakes, MISTAKE_COMMAND_LINE, value->index,
                            format_text("command line: %s: %s is there twice", axis->place,
                                        value->text));
            else if (same)
                reader_mistake_at(e->reader, point->count > 1 ? axis->place : value->place,
                                  "%s is there twice", value->text);
            else if (*point->label && !strcmp(point->label, axis->points[q].label))
                reader_mistake_at(e->reader, value->place, "two values are called \"%s\"",
                                  point->label);
            else continue;
            return;
        }
}

/* The value of the axis with that key; points of a list have different ones. */
static const Value *find_value(const Axis *axis, const char *key) {
    for (int p = 0; p < axis->count; p++)
        for (int i = 0; i < axis->points[p].count; i++)
            if (!strcmp(axis->points[p].values[i].key, key)) return &axis->points[p].values[i];
    return NULL;
}

/* The first key that both vary, as a value of b. */
static const Value *shared_value(const Axis *a, const Axis *b) {
    const Value *value = NULL;
    for (int p = 0; p < a->count && !value; p++)
        for (int i = 0; i < a->points[p].count && !value; i++)
            value = find_value(b, a->points[p].values[i].key);
    return value;
}

static void check_axes(Expansion *e) {
    for (int a = 0; a < e->axis_count; a++) {
        for (int p = 0; p < e->axes[a].count; p++) label_point(&e->axes[a].points[p]);
        check_twice(e, &e->axes[a]);
        for (int b = 0; b < a; b++) {
            const Value *value = shared_value(&e->axes[b], &e->axes[a]);
            if (value)
                reader_mistake_at(e->reader, value->place, "%s is varied here and in %s",
                                  value->key, e->axes[b].place);
        }
    }
}

/* ---- cells --------------------------------------------------------------------------------- */

/* The places of a cell on the axes: the last axis turns fastest. */
static void place_cell(const Expansion *e, StudyCell *cell, int index) {
    for (int a = e->axis_count - 1; a >= 0; a--) {
        cell->point[a] = index % e->axes[a].count;
        index /= e->axes[a].count;
    }
}

/* Groups are told apart by their labels. */
static int group_of(Study *study, char *label) {
    for (int g = 0; g < study->group_count; g++)
        if (!strcmp(study->groups[g].label, label)) {
            free(label);
            return g;
        }
    StudyGroup *group = &study->groups[study->group_count];
    *group = (StudyGroup){.label = label, .rate = -1};
    return study->group_count++;
}

static void describe_cell(const Expansion *e, StudyCell *cell) {
    char *label = copy_text("");
    cell->text = copy_text("");
    cell->rate = -1;
    int settings = 0;
    for (int a = 0; a < e->axis_count; a++)
        settings += e->axes[a].points[cell->point[a]].count;
    cell->settings = ALLOCATE((size_t)settings, StudySetting);
    for (int a = 0; a < e->axis_count; a++) {
        const Point *point = &e->axes[a].points[cell->point[a]];
        if (e->axes[a].rates) cell->rate = cell->point[a];
        else label = join(label, ", ", copy_text(point->label));
        if (point->named) cell->label = copy_text(point->label);
        for (int i = 0; i < point->count; i++) {
            const Value *value = &point->values[i];
            cell->settings[cell->setting_count++] =
                (StudySetting){copy_text(value->key), copy_text(value->text)};
            cell->text = join(cell->text, " ", format_text("%s=%s", value->key, value->text));
        }
    }
    cell->group = group_of(e->study, label);
}

/* A copy of the base, with the values of the cell, and what comes of it. */
static void read_cell(void *context) {
    Expansion *e = context;
    Reader *reader = e->reader;
    lua_State *L = reader->L;
    lua_newtable(L);
    lua_rawgeti(L, LUA_REGISTRYINDEX, e->base);
    if (!lua_istable(L, -1)) {
        config_read_table(reader); /* says what it is */
        return;
    }
    for (lua_pushnil(L); lua_next(L, 2);) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, 1);
    }
    lua_settop(L, 1);
    config_read_table(reader);
}

static void override_cell(Expansion *e, const StudyCell *cell) {
    Reader *reader = e->reader;
    override_split(reader, e->override_count, e->overrides);
    if (e->name_held != LUA_NOREF) {
        Override name = {.key = "name", .held = e->name_held, .place = "name"};
        override_add(reader, &name);
    }
    for (int a = 0; a < e->axis_count; a++) {
        const Point *point = &e->axes[a].points[cell->point[a]];
        for (int i = 0; i < point->count; i++) {
            const Value *value = &point->values[i];
            Override override = {.text = value->command,
                                 .value = value->command ? strchr(value->command, '=') + 1 : NULL,
                                 .index = value->index,
                                 .held = value->held};
            snprintf(override.key, sizeof override.key, "%s", value->key);
            snprintf(override.place, sizeof override.place, "%s", value->place);
            override_add(reader, &override);
        }
    }
}

/* Reads one; a cell whose values are impossible only together is not defined. */
static void make_cell(Expansion *e, int index) {
    Reader *reader = e->reader;
    Study *study = e->study;
    StudyCell *cell = &study->cells[index];
    place_cell(e, cell, index);
    describe_cell(e, cell);
    reader_clear(reader);
    reader->config = &cell->config;
    config_defaults(&cell->config);
    override_cell(e, cell);
    sandbox_protect(reader->sandbox, read_cell, e, &reader->mistakes);
    checks_files(reader);
    const MistakeList *mistakes = &reader->mistakes;
    if (!mistakes->count) generators_try(reader);
    if (!mistakes->count) {
        config_finish(reader, study->path);
        return;
    }
    config_free(&cell->config);
    if (mistakes->count == reader->combinations)
        cell->undefined = copy_text(mistakes->kept[0].text);
    else e->wrong = true;
    mistakes_merge(&e->mistakes, &reader->mistakes);
}

static void check_same_run(Expansion *e) {
    Study *study = e->study;
    for (int i = 0; i < study->cell_count; i++)
        for (int j = 0; j < i && study->cells[i].config.id; j++) {
            const StudyCell *a = &study->cells[j], *b = &study->cells[i];
            if (!a->config.id || strcmp(a->config.id, b->config.id) != 0) continue;
            reader_mistake_at(e->reader, "", "%s and %s are the same run, %s",
                              *a->text ? a->text : "the base", *b->text ? b->text : "the base",
                              a->config.id);
            return;
        }
}

static void make_cells(Expansion *e) {
    Study *study = e->study;
    double count = 1;
    for (int a = 0; a < e->axis_count; a++) count *= e->axes[a].count;
    if (count > STUDY_CELLS) {
        reader_mistake_at(e->reader, "", "%.0f runs; a study has at most %d", count, STUDY_CELLS);
        return;
    }
    study->cell_count = (int)count;
    study->cells = ALLOCATE((size_t)count, StudyCell);
    study->groups = ALLOCATE((size_t)count, StudyGroup);
    for (int c = 0; c < study->cell_count; c++)
        if (!e->index || c == e->index - 1) make_cell(e, c);
    reader_clear(e->reader);
    if (!e->index) check_same_run(e);
}

/* ---- the whole ----------------------------------------------------------------------------- */

/* The name of a study's folder: its own, or the file's without .lua. */
static void hold_name(Expansion *e) {
    const char *path = e->study->path, *slash = strrchr(path, '/');
    char *stem = copy_text(slash ? slash + 1 : path), *end = strrchr(stem, '.');
    if (end && !strcmp(end, ".lua")) *end = 0;
    lua_pushstring(e->reader->L, e->study->name ? e->study->name : stem);
    e->name_held = luaL_ref(e->reader->L, LUA_REGISTRYINDEX);
    free(stem);
}

static void read_file(void *context) {
    Expansion *e = context;
    lua_State *L = e->reader->L;
    sandbox_run(e->reader->sandbox, 0);
    config_check_doubles(e->reader);
    e->study->sweep = !sandbox_is_study(L);
    if (e->study->sweep) {
        e->base = luaL_ref(L, LUA_REGISTRYINDEX);
        return;
    }
    e->reader->prefix = "base";
    read_study(e);
    hold_name(e);
}

static void read_claims(void *context) {
    Expansion *e = context;
    lua_rawgeti(e->reader->L, LUA_REGISTRYINDEX, e->claims);
    claims_read(e);
}

/* Everything between the open file and the study or its mistakes. */
static void expand(Expansion *e, int count, const char *const *texts) {
    Reader *reader = e->reader;
    sandbox_protect(reader->sandbox, read_file, e, &reader->mistakes);
    if (reader->mistakes.count) return;
    for (int i = 0; i < count; i++) override_axes(e, texts[i]);
    e->override_count = count;
    e->texts = texts;
    for (int i = 0; i < count; i++)
        if (is_sweep(texts[i])) read_sweep(e, texts[i], i);
        else e->overrides[i] = texts[i];
    sort_axes(e);
    check_axes(e);
    if (reader->mistakes.count) return;
    make_cells(e);
    bool any = e->index;
    for (int c = 0; c < e->study->cell_count; c++) any = any || e->study->cells[c].config.id;
    if (any && !e->wrong) { /* what is not defined is no mistake */
        Mistakes dropped;
        mistakes_finish(&e->mistakes, &dropped);
        free(dropped.text);
    }
    if (any && !e->index && e->claims != LUA_NOREF)
        sandbox_protect(reader->sandbox, read_claims, e, &reader->mistakes);
}

/* Runs are named by the command line, the study or its file; their folder has that name, too. */
static void take_name(Study *study) {
    int c = 0;
    while (c < study->cell_count && !study->cells[c].config.id) c++;
    if (c == study->cell_count) return;
    free(study->name);
    study->name = copy_text(study->cells[c].config.name);
}

bool study_load(const char *path, int index, int override_count, const char *const *overrides,
                Study *study, Mistakes *mistakes) {
    *study = (Study){.path = copy_text(path)};
    Expansion e = {.reader = ALLOCATE(1, Reader),
                   .study = study,
                   .index = index,
                   .base = LUA_NOREF,
                   .claims = LUA_NOREF,
                   .name_held = LUA_NOREF,
                   .overrides = ALLOCATE((size_t)override_count, const char *)};
    Script *script = script_create();
    Sources *sources = &script->sources;
    e.reader->script = script;
    e.reader->sources = sources;
    e.reader->sandbox = &script->sandbox;
    e.reader->prefix = "";
    char reason[SOURCE_REASON];
    if (source_open(sources, path, reason)) {
        sandbox_open(&script->sandbox, sources);
        e.reader->L = script->sandbox.L;
        expand(&e, override_count, overrides);
    } else {
        mistake_add(&e.reader->mistakes, 0, 0, format_text("%s: %s", path, reason));
    }
    mistakes_merge(&e.mistakes, &e.reader->mistakes);
    const bool good = !e.mistakes.count;
    study->lua = source_texts(sources);
    take_name(study);
    mistakes_finish(&e.mistakes, mistakes);
    if (!good) study_free(study);
    for (int a = 0; a < e.axis_count; a++) free_axis(&e.axes[a]);
    reader_clear(e.reader);
    script_release(script);
    free(e.reader);
    free(e.overrides);
    return good;
}
