#include "src/lua/places.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/base.h"
#include "src/lua/source.h"

enum { NODE_COUNT = 10000, LEVELS = 64 };

/* ---- tokens ---------------------------------------------------------------------------- */

typedef enum { END, NAME, STRING, NUMBER, SYMBOL } TokenType;

typedef struct {
    TokenType type;
    const char *at; /* of a string: between its quotes or brackets */
    int length;
    int line;
} Token;

typedef struct {
    const char *at;
    int line;
    Places *places;
} Scanner;

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* The sign of an exponent; never the first character of a number. */
static bool is_sign(const char *at) {
    return (*at == '+' || *at == '-') && strchr("eEpP", at[-1]);
}

/* The level of a long bracket that opens at `at` ("[==[" → 2), -1 when none does. */
static int long_level(const char *at) {
    if (*at != '[') return -1;
    int level = (int)strspn(at + 1, "=");
    return at[1 + level] == '[' ? level : -1;
}

/* Steps over [==[ ... ]==] and gives the text between. */
static Token long_text(Scanner *scanner, int level) {
    Token token = {STRING, scanner->at + level + 2, 0, scanner->line};
    const char *at = token.at;
    for (; *at; at++) {
        if (*at == '\n') scanner->line++;
        if (*at == ']' && (int)strspn(at + 1, "=") == level && at[1 + level] == ']') break;
    }
    token.length = (int)(at - token.at);
    scanner->at = *at ? at + level + 2 : at;
    return token;
}

static void skip_space(Scanner *scanner) {
    for (;;) {
        char c = *scanner->at;
        if (c == '\n') scanner->line++;
        if (c && strchr(" \t\r\n\v\f", c)) {
            scanner->at++;
        } else if (c == '-' && scanner->at[1] == '-') {
            scanner->at += 2;
            int level = long_level(scanner->at);
            if (level >= 0)
                long_text(scanner, level);
            else
                scanner->at += strcspn(scanner->at, "\n");
        } else {
            return;
        }
    }
}

static Token next(Scanner *scanner) {
    skip_space(scanner);
    const char *at = scanner->at;
    Token token = {SYMBOL, at, 1, scanner->line};
    int level = long_level(at);
    if (level >= 0) return long_text(scanner, level);
    if (!*at) {
        token.type = END;
        token.length = 0;
    } else if (is_letter(*at)) {
        token.type = NAME;
        while (is_letter(at[token.length]) || is_digit(at[token.length])) token.length++;
    } else if (is_digit(*at) || (*at == '.' && is_digit(at[1]))) {
        token.type = NUMBER;
        while (is_letter(at[token.length]) || is_digit(at[token.length]) ||
               at[token.length] == '.' || is_sign(at + token.length))
            token.length++;
    } else if (*at == '"' || *at == '\'') {
        token = (Token){STRING, at + 1, 0, scanner->line};
        for (at++; *at && *at != *scanner->at; at++) {
            if (*at == '\\' && at[1]) at++;
            if (*at == '\n') scanner->line++;
        }
        token.length = (int)(at - token.at);
        scanner->at = at + (*at != 0);
        return token;
    } else {
        /* Only those that could be taken for "=" or "." need to be whole. */
        static const char *const wide[] = {"...", "..", "==", "~=", "<=", ">="};
        for (size_t i = 0; i < sizeof wide / sizeof *wide && token.length == 1; i++)
            if (!strncmp(at, wide[i], strlen(wide[i]))) token.length = (int)strlen(wide[i]);
    }
    scanner->at += token.length;
    return token;
}

static Token peek(const Scanner *scanner) {
    Scanner ahead = *scanner;
    return next(&ahead);
}

static bool is_symbol(Token token, const char *symbol) {
    return token.type == SYMBOL && token.length == (int)strlen(symbol) &&
           !strncmp(token.at, symbol, (size_t)token.length);
}

static bool is_word(Token token, const char *word) {
    return token.type == NAME && token.length == (int)strlen(word) &&
           !strncmp(token.at, word, (size_t)token.length);
}

/* ---- nodes ----------------------------------------------------------------------------- */

/* Past NODE_COUNT nodes the rest of the text is not read: finding a node is a plain search. */
static int add_node(Scanner *scanner, PlaceNode node) {
    Places *places = scanner->places;
    if (places->count == NODE_COUNT) {
        scanner->at += strlen(scanner->at);
        return NODE_COUNT - 1;
    }
    if (places->count == places->room) {
        int room = places->room ? 2 * places->room : 64;
        PlaceNode *larger = ALLOCATE((size_t)room, PlaceNode);
        if (places->count) memcpy(larger, places->nodes, (size_t)places->count * sizeof *larger);
        free(places->nodes);
        places->nodes = larger;
        places->room = room;
    }
    places->nodes[places->count] = node;
    return places->count++;
}

static int add_key(Scanner *scanner, int parent, Token key) {
    PlaceNode node = {.parent = parent, .line = key.line};
    if (key.type == NUMBER) {
        node.index = atoi(key.at);
    } else {
        node.name = key.at;
        node.name_length = key.length;
    }
    return add_node(scanner, node);
}

/* The newest node of that name, so that `model.heads = 8` finds `local model = {}`. */
static int find_key(const Places *places, int parent, Token key) {
    for (int i = places->count - 1; i >= 0; i--) {
        const PlaceNode *node = &places->nodes[i];
        bool same = key.type == NUMBER ? !node->name && node->index == atoi(key.at)
                                       : node->name && node->name_length == key.length &&
                                             !strncmp(node->name, key.at, (size_t)key.length);
        if (node->parent == parent && same) return i;
    }
    return -1;
}

/* ---- the text -------------------------------------------------------------------------- */

static void scan_block(Scanner *scanner, bool in_function);
static void scan_table(Scanner *scanner, int node);

/* The start of the value of `node`; leaves the scanner where it cannot tell. */
static void scan_value(Scanner *scanner, int node) {
    Token token = peek(scanner);
    if (is_symbol(token, "{")) {
        next(scanner);
        scan_table(scanner, node);
        return;
    }
    if (token.type != NAME || is_word(token, "function")) return;
    Scanner ahead = *scanner;
    next(&ahead);
    Token after = next(&ahead);
    bool include = is_word(token, "include");
    if (include && is_symbol(after, "(")) after = next(&ahead);
    PlaceNode *place = &scanner->places->nodes[node];
    if (include && after.type == STRING) {
        place->alias = after.at;
        place->alias_length = after.length;
        place->includes = 1;
    } else if (is_symbol(after, "{")) { /* a function of a table: study { ... } */
        *scanner = ahead;
        scan_table(scanner, node);
    } else if (after.type == NAME || after.type == END || is_symbol(after, ",") ||
               is_symbol(after, ";") || is_symbol(after, "}")) {
        place->alias = token.at;
        place->alias_length = token.length;
    }
}

/* To the end of a field's value: what follows is ',' or ';' or '}'. */
static void skip_value(Scanner *scanner) {
    for (int depth = 0;;) {
        Token token = peek(scanner);
        bool closes = is_symbol(token, "}");
        if (token.type == END) return;
        if (!depth && (closes || is_symbol(token, ",") || is_symbol(token, ";"))) return;
        next(scanner);
        if (is_word(token, "function")) scan_block(scanner, true);
        if (is_symbol(token, "{") || is_symbol(token, "(") || is_symbol(token, "[")) depth++;
        if (closes || is_symbol(token, ")") || is_symbol(token, "]")) depth--;
    }
}

/* The key that a field starts with, "name =" or "[key] =": steps over both. */
static bool scan_key(Scanner *scanner, Token *key) {
    Scanner ahead = *scanner;
    Token token = next(&ahead);
    bool bracket = is_symbol(token, "[");
    if (bracket) token = next(&ahead);
    bool fits = bracket ? token.type == STRING || token.type == NUMBER : token.type == NAME;
    if (!fits || (bracket && !is_symbol(next(&ahead), "]"))) return false;
    if (!is_symbol(next(&ahead), "=")) return false;
    *key = token;
    *scanner = ahead;
    return true;
}

/* Lua takes the last of two equal keys in silence: { seed = 1, seed = 2 }. */
static void note_double(Places *places, int child) {
    PlaceNode *node = &places->nodes[child];
    for (int i = child - 1; i > node->parent && node->name; i--) {
        const PlaceNode *other = &places->nodes[i];
        if (other->parent != node->parent || !other->name) continue;
        if (other->name_length == node->name_length &&
            !strncmp(other->name, node->name, (size_t)node->name_length))
            node->first_line = other->line;
    }
}

/* From behind '{' to behind its '}'. */
static void scan_table(Scanner *scanner, int node) {
    for (int index = 0;;) {
        Token token = peek(scanner), key;
        if (token.type == END || is_symbol(token, "}")) {
            next(scanner);
            return;
        }
        if (is_symbol(token, ",") || is_symbol(token, ";")) {
            next(scanner);
            continue;
        }
        int child =
            scan_key(scanner, &key)
                ? add_key(scanner, node, key)
                : add_node(scanner,
                           (PlaceNode){.parent = node, .line = token.line, .index = ++index});
        note_double(scanner->places, child);
        scan_value(scanner, child);
        skip_value(scanner);
    }
}

/* variable.a["b"][3] = value, from behind the variable's name. */
static void scan_assignment(Scanner *scanner, Token variable) {
    Token path[16] = {variable};
    int length = 1;
    Scanner ahead = *scanner;
    for (;; length++) {
        Token token = next(&ahead), key;
        if (is_symbol(token, "=")) break;
        bool dot = is_symbol(token, ".");
        if (length == 16 || (!dot && !is_symbol(token, "["))) return;
        key = next(&ahead);
        bool fits = dot ? key.type == NAME : key.type == STRING || key.type == NUMBER;
        if (!fits || (!dot && !is_symbol(next(&ahead), "]"))) return;
        path[length] = key;
    }
    *scanner = ahead;
    int node = PLACES_VARIABLE;
    for (int i = 0; i < length; i++) {
        int found = i + 1 < length ? find_key(scanner->places, node, path[i]) : -1;
        node = found >= 0 ? found : add_key(scanner, node, path[i]);
    }
    scan_value(scanner, node);
}

static void scan_local(Scanner *scanner) {
    Scanner ahead = *scanner;
    Token name = next(&ahead), token = next(&ahead);
    if (is_symbol(token, "<")) { /* local x <const> = ... */
        next(&ahead);
        next(&ahead);
        token = next(&ahead);
    }
    if (name.type != NAME || !is_symbol(token, "=")) return;
    *scanner = ahead;
    scan_value(scanner, add_key(scanner, PLACES_VARIABLE, name));
}

/* Statements to the block's `end`; what is no assignment is stepped over token by token. */
static void scan_block(Scanner *scanner, bool in_function) {
    bool statement = true; /* a name here may start an assignment */
    for (;;) {
        Token token = next(scanner);
        if (token.type == END || is_word(token, "end") || is_word(token, "until")) return;
        if (is_word(token, "function")) {
            scan_block(scanner, true);
        } else if (is_word(token, "do") || is_word(token, "if") || is_word(token, "repeat")) {
            scan_block(scanner, in_function);
        } else if (is_word(token, "local")) {
            scan_local(scanner);
        } else if (is_word(token, "return")) {
            if (in_function) continue;
            scanner->places->nodes[PLACES_RESULT].line = token.line;
            scan_value(scanner, PLACES_RESULT);
        } else if (is_symbol(token, "{")) {
            scan_table(scanner, add_node(scanner, (PlaceNode){.parent = PLACES_VARIABLE}));
        } else if (token.type == NAME && statement) {
            scan_assignment(scanner, token);
        }
        statement = !is_symbol(token, ".") && !is_symbol(token, ":");
    }
}

Places places_scan(const char *text) {
    Places places = {0};
    Scanner scanner = {text, 1, &places};
    add_node(&scanner, (PlaceNode){.parent = PLACES_VARIABLE});
    scan_block(&scanner, false);
    return places;
}

void places_free(Places *places) {
    free(places->nodes);
    *places = (Places){0};
}

/* ---- search ---------------------------------------------------------------------------- */

typedef struct {
    const Sources *sources;
    Place best;
    int budget, level; /* of nodes and of calls: variables may stand for each other in circles */
} Search;

static bool is_part(const PlaceNode *node, const char *part, int length) {
    if (!node->name) return node->index && node->index == atoi(part);
    return node->name_length == length && !strncmp(node->name, part, (size_t)length);
}

/* How many characters of the key the node's name takes: more than one component where the name
   has dots, as in ["model.encoding"] of a study. 0: it is another name. */
static int part_length(const PlaceNode *node, const char *key) {
    int length = (int)strcspn(key, ".");
    if (node->name && node->name_length > length && strlen(key) >= (size_t)node->name_length)
        length = node->name_length;
    bool ends = !key[length] || key[length] == '.';
    return ends && is_part(node, key, length) ? length : 0;
}

/* The newest first: a later assignment is the one that counts. */
static void search(Search *to, int source, int node, const char *rest, int depth) {
    if (to->level == LEVELS) return;
    to->level++;
    const Places *places = &to->sources->list[source].places;
    const PlaceNode *here = &places->nodes[node];
    if (depth > to->best.depth) to->best = (Place){source, here->line, depth};
    if (!*rest) to->budget = 0;
    for (int i = places->count - 1; i >= 0 && to->budget > 0; i--, to->budget--) {
        int length =
            places->nodes[i].parent == node && *rest ? part_length(&places->nodes[i], rest) : 0;
        if (length) search(to, source, i, rest + length + (rest[length] == '.'), depth + 1);
    }
    bool variable = here->alias && !here->includes, file = here->alias && here->includes;
    for (int i = places->count - 1; i >= 0 && variable && to->budget > 0; i--, to->budget--)
        if (places->nodes[i].parent == PLACES_VARIABLE &&
            is_part(&places->nodes[i], here->alias, here->alias_length))
            search(to, source, i, rest, depth);
    for (int i = 0; i < to->sources->include_count && file && to->budget > 0; i++) {
        const Include *include = &to->sources->includes[i];
        if (include->from == source && (int)strlen(include->name) == here->alias_length &&
            !strncmp(include->name, here->alias, (size_t)here->alias_length))
            search(to, include->to, PLACES_RESULT, rest, depth);
    }
    to->level--;
}

Place places_find(const Sources *sources, const char *key) {
    Search to = {.sources = sources, .best = {0, sources->list[0].places.nodes[0].line, 0}};
    for (int i = 0; i < sources->count; i++) {
        to.budget = 100000;
        search(&to, i, PLACES_RESULT, key, 0);
    }
    return to.best;
}
