/* claims = { { "nope ahead", task = "copy", left = "nope", right = { "t5", "alibi" },
   length = { 1.5, 2 }, relation = ">" }, ... } → one comparison (src/claim.h) for each left side,
   right side and length.

   A side is { ["model.encoding"] = "rope", ... }; or an encoding as a config has it, "rope" or
   { "rope", fraction = 0.25 }; or a list of these. */
#include <lauxlib.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lua/expansion.h"

static const char *const claim_keys[] = {"task",   "left",     "right",  "value",
                                         "length", "relation", "metric", "trained"};
enum { KEYS = sizeof claim_keys / sizeof *claim_keys, SIDES = 64 };

typedef struct {
    Expansion *e;
    char place[KEY_SIZE]; /* "claims.2" */
    Claim claim;          /* what all its comparisons share */
    int left_count, right_count, length_count;
    ClaimSide left[SIDES], right[SIDES];
    double lengths[SIDES];
} ClaimReader;

static void wrong(ClaimReader *r, const char *key, const char *format, ...) PRINTF_LIKE(3, 4);
static void wrong(ClaimReader *r, const char *key, const char *format, ...) {
    char place[KEY_SIZE], sentence[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    snprintf(place, sizeof place, "%.64s%s%.128s", r->place, *key ? "." : "", key);
    reader_mistake_at(r->e->reader, place, "%s", sentence);
}

/* ---- does a run of the study have it? ------------------------------------------------------ */

/* The value of an option as Lua text, without quotes. */
static char *option_text(const Option *option, const void *options) {
    char *text = option_format(option, options);
    const size_t length = strlen(text);
    if (length < 2 || *text != '"') return text;
    char *plain = format_text("%.*s", (int)length - 2, text + 1);
    free(text);
    return plain;
}

/* The config's value of a key, in memory of the caller; NULL: it has no such key. */
static char *config_text(const Config *config, const char *key) {
    for (int k = 0; k < CONFIG_KINDS; k++) {
        const ConfigKind *kind = &config_kinds[k];
        char path[KEY_SIZE];
        reader_join(path, kind->section, kind->name);
        const size_t length = strlen(path);
        if (!strcmp(key, path)) return copy_text(kind->chosen(config));
        if (strncmp(key, path, length) != 0 || key[length] != '.') continue;
        const Option *option = option_find(
            kind->kind((size_t)config_kind_index(kind, kind->chosen(config))).options,
            key + length + 1);
        return option ? option_text(option, (const char *)config + kind->options) : NULL;
    }
    for (int s = 0; s < CONFIG_SECTIONS; s++) {
        const ConfigSection *section = &config_sections[s];
        const size_t length = strlen(section->name);
        if (s && (strncmp(key, section->name, length) != 0 || key[length] != '.')) continue;
        const Option *option = option_find(section->options, s ? key + length + 1 : key);
        if (option) return option_text(option, config);
    }
    return NULL;
}

static bool has(const Config *config, const ClaimKey *key) {
    char *text = config_text(config, key->key);
    const bool same = text && claim_key_is(key, text);
    free(text);
    return same;
}

/* Whether the command line sets the key, or the kind that it is an option of. */
static bool is_overridden(const Expansion *e, const char *key) {
    for (int i = 0; i < e->override_count; i++) {
        const size_t length = strcspn(e->texts[i], "=");
        if (!strncmp(key, e->texts[i], length) && (!key[length] || key[length] == '.')) return true;
    }
    return false;
}

/* Whether a run of the study is on the side. The key to blame is the first that no run has; where
   the command line took its value away, that is no mistake. */
static bool check_side(ClaimReader *r, const char *name, const ClaimSide *side) {
    const Study *study = r->e->study;
    const ClaimKey *blamed = &side->keys[0];
    int most_keys = -1;
    for (int c = 0; c < study->cell_count; c++) {
        const Config *config = &study->cells[c].config;
        int keys = 0;
        while (config->id && keys < side->count && has(config, &side->keys[keys])) keys++;
        if (keys == side->count) return true;
        if (keys > most_keys) most_keys = keys, blamed = &side->keys[keys];
    }
    if (!is_overridden(r->e, blamed->key))
        wrong(r, name, "no run of the study has %s = %s", blamed->key, blamed->value);
    return false;
}

/* ---- sides --------------------------------------------------------------------------------- */

/* The value on top of the stack, for a key. */
static void add_key(ClaimReader *r, const char *name, ClaimSide *side, const char *key) {
    char *text = value_text(r->e->reader->L);
    if (side->count == CLAIM_KEYS) {
        wrong(r, name, "more than %d keys", CLAIM_KEYS);
    } else if (strlen(key) >= CLAIM_TEXT || strlen(text) >= CLAIM_TEXT) {
        wrong(r, name, "longer than %d letters", CLAIM_TEXT - 1);
    } else {
        ClaimKey *to = &side->keys[side->count++];
        snprintf(to->key, sizeof to->key, "%s", key);
        snprintf(to->value, sizeof to->value, "%s", text);
    }
    free(text);
}

/* Every named value of the table on top of the stack. */
static void add_keys(ClaimReader *r, const char *name, ClaimSide *side, const char *prefix) {
    lua_State *L = r->e->reader->L;
    const char *names[CONFIG_NAMES];
    const int count = table_names(L, names);
    for (int i = 0; i < count; i++, lua_pop(L, 1)) {
        char key[KEY_SIZE];
        lua_getfield(L, -1, names[i]);
        add_key(r, name, side, reader_join(key, prefix, names[i]));
    }
}

/* The value on top of the stack is one side. False: it is none of this study. */
static bool read_side(ClaimReader *r, const char *name, ClaimSide *side) {
    lua_State *L = r->e->reader->L;
    const char *encoding = "model.encoding";
    *side = r->claim.left; /* the task, where the claim has one */
    if (!lua_istable(L, -1)) {
        add_key(r, name, side, encoding);
    } else if (lua_rawlen(L, -1)) {
        lua_rawgeti(L, -1, 1);
        add_key(r, name, side, encoding);
        lua_pop(L, 1);
        add_keys(r, name, side, encoding);
    } else {
        add_keys(r, name, side, "");
    }
    if (side->count) return check_side(r, name, side);
    wrong(r, name, "no key");
    return false;
}

/* A list of sides, and not one encoding with options. */
static bool is_list(lua_State *L) {
    if (!lua_istable(L, -1)) return false;
    const int count = reader_sequence(L, SIDES);
    if (count != 1) return count > 1;
    const bool table = lua_rawgeti(L, -1, 1) == LUA_TTABLE;
    lua_pop(L, 1);
    return table;
}

/* Returns the number of sides that the study has. */
static int read_sides(ClaimReader *r, const char *name, ClaimSide sides[SIDES]) {
    lua_State *L = r->e->reader->L;
    if (!is_list(L)) return read_side(r, name, &sides[0]);
    const int count = (int)lua_rawlen(L, -1);
    int kept = 0;
    for (int i = 0; i < count; i++, lua_pop(L, 1)) {
        lua_rawgeti(L, -1, i + 1);
        kept += read_side(r, name, &sides[kept]);
    }
    return kept;
}

/* ---- the other keys ------------------------------------------------------------------------ */

/* Pushes a value of the claim; false (nothing pushed) where there is none. */
static bool get(ClaimReader *r, const char *name) {
    lua_State *L = r->e->reader->L;
    lua_pushstring(L, name);
    if (lua_rawget(L, -2) != LUA_TNIL) return true;
    lua_pop(L, 1);
    return false;
}

/* A number of the claim between two others, or `otherwise`. */
static double get_number(ClaimReader *r, const char *name, double low, double high,
                         double otherwise) {
    lua_State *L = r->e->reader->L;
    if (!get(r, name)) return otherwise;
    const double number = lua_tonumber(L, -1);
    const bool fits = lua_type(L, -1) == LUA_TNUMBER && number >= low && number <= high;
    if (!fits) {
        char *text = reader_value_text(L);
        wrong(r, name, "got %s; expected a number from %g to %g", text, low, high);
        free(text);
    }
    lua_pop(L, 1);
    return fits ? number : otherwise;
}

/* The place of the text in the words; `otherwise` where the claim has none. */
static int get_word(ClaimReader *r, const char *name, int count, const char *const *words,
                    int otherwise) {
    lua_State *L = r->e->reader->L;
    if (!get(r, name)) return otherwise;
    const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    int word = 0;
    while (word < count && strcmp(text, words[word]) != 0) word++;
    if (word == count) {
        char *all = copy_text("");
        for (int i = 0; i < count; i++) {
            char *longer = format_text("%s%s\"%s\"", all, i ? " or " : "", words[i]);
            free(all);
            all = longer;
        }
        wrong(r, name, "got \"%.64s\"; expected %s", text, all);
        free(all);
    }
    lua_pop(L, 1);
    return word < count ? word : 0;
}

/* A number, or a list of them. */
static void read_lengths(ClaimReader *r) {
    lua_State *L = r->e->reader->L;
    static const char expected[] = "expected a multiple of the trained length: 1.5, or { 1.5, 2 }";
    r->length_count = 0;
    if (!get(r, "length")) {
        wrong(r, "length", "missing; %s", expected);
        return;
    }
    const int count = lua_istable(L, -1) ? reader_sequence(L, SIDES) : 1;
    for (int i = 0; i < count; i++, lua_pop(L, 1)) {
        if (lua_istable(L, -1)) lua_rawgeti(L, -1, i + 1);
        else lua_pushvalue(L, -1);
        const double length = lua_tonumber(L, -1);
        if (lua_type(L, -1) == LUA_TNUMBER && length > 0) r->lengths[r->length_count++] = length;
    }
    if (count < 1 || r->length_count != count) wrong(r, "length", "%s", expected);
    lua_pop(L, 1);
}

static void check_keys(ClaimReader *r) {
    const char *names[CONFIG_NAMES];
    const int count = table_names(r->e->reader->L, names);
    for (int i = 0; i < count; i++) {
        bool known = false;
        for (int k = 0; k < KEYS; k++) known = known || !strcmp(names[i], claim_keys[k]);
        const char *near = known ? NULL : mistake_nearest(names[i], KEYS, claim_keys);
        if (near) wrong(r, names[i], "unknown key; did you mean %s?", near);
        else if (!known)
            wrong(r, names[i], "unknown key; a claim has task, left, right, value, length, "
                               "relation, metric, trained");
    }
}

static void read_name(ClaimReader *r) {
    lua_State *L = r->e->reader->L;
    const bool text = lua_rawgeti(L, -1, 1) == LUA_TSTRING;
    if (text && strlen(lua_tostring(L, -1)) < CLAIM_TEXT)
        snprintf(r->claim.name, sizeof r->claim.name, "%s", lua_tostring(L, -1));
    else wrong(r, "", "its first value is what it says, a text of at most %d letters",
               CLAIM_TEXT - 1);
    lua_pop(L, 1);
}

/* The claim on top of the stack. */
static void read_claim(ClaimReader *r) {
    static const char *const relations[] = {">", "<"}, *const metrics[] = METRIC_WORDS;
    lua_State *L = r->e->reader->L;
    r->claim = (Claim){0};
    if (!lua_istable(L, -1)) {
        wrong(r, "", "expected { \"what it says\", left = ..., right = ..., length = ... }");
        return;
    }
    check_keys(r);
    read_name(r);
    if (get(r, "task")) {
        add_key(r, "task", &r->claim.left, "task");
        lua_pop(L, 1);
    }
    r->claim.metric = (Metric)get_word(r, "metric", METRICS, metrics, METRIC_SEQUENCE_ACCURACY);
    r->claim.less = get_word(r, "relation", 2, relations, 0);
    r->claim.trained = get_number(r, "trained", 0, 1, CLAIM_TRAINED);
    read_lengths(r);
    r->left_count = r->right_count = 0;
    if (get(r, "left")) {
        r->left_count = read_sides(r, "left", r->left);
        lua_pop(L, 1);
    } else {
        wrong(r, "left", "missing; expected an encoding, or { [\"model.encoding\"] = ... }");
    }
    const bool right = get(r, "right");
    if (right) r->right_count = read_sides(r, "right", r->right);
    if (right) lua_pop(L, 1);
    const bool value = get(r, "value");
    if (value) lua_pop(L, 1);
    if (right == value)
        wrong(r, right ? "value" : "right", right ? "a claim has right or value, not both"
                                                  : "missing; right, or value = a number");
    if (value) r->claim.value = get_number(r, "value", -1e300, 1e300, 0);
    r->claim.against_value = !right;
    r->right_count += !right;
}

/* One comparison for each left side, right side and length. */
static void add_claims(ClaimReader *r) {
    Study *study = r->e->study;
    const int count = r->left_count * r->right_count * r->length_count;
    if (study->claim_count + count > STUDY_CLAIMS) {
        wrong(r, "", "more than %d comparisons", STUDY_CLAIMS);
        return;
    }
    for (int i = 0; i < count; i++) {
        Claim *claim = &study->claims[study->claim_count++];
        *claim = r->claim;
        claim->left = r->left[i / (r->right_count * r->length_count)];
        claim->right = (ClaimSide){0};
        if (!claim->against_value)
            claim->right = r->right[i / r->length_count % r->right_count];
        claim->length = r->lengths[i % r->length_count];
    }
}

void claims_read(Expansion *e) {
    lua_State *L = e->reader->L;
    const int count = lua_istable(L, -1) ? reader_sequence(L, STUDY_CLAIMS) : -1;
    if (count < 0) {
        reader_mistake_at(e->reader, "claims", "expected a list of claims");
        return;
    }
    ClaimReader *r = ALLOCATE(1, ClaimReader);
    r->e = e;
    e->study->claims = ALLOCATE(STUDY_CLAIMS, Claim);
    for (int i = 0; i < count; i++, lua_pop(L, 1)) {
        const int before = e->reader->mistakes.count;
        snprintf(r->place, sizeof r->place, "claims.%d", i + 1);
        lua_rawgeti(L, -1, i + 1);
        read_claim(r);
        if (e->reader->mistakes.count == before) add_claims(r);
    }
    free(r);
}
