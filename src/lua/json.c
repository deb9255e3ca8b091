#include "src/lua/json.h"

#include <lauxlib.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 16 };

typedef struct {
    lua_State *L;
    const char *text, *at;
    int depth;
} Parser;

static void push_value(Parser *parser);

static void fail(Parser *parser, const char *expected) {
    luaL_error(parser->L, "no JSON at byte %d: %s expected", (int)(parser->at - parser->text),
               expected);
}

static char peek(Parser *parser) {
    parser->at += strspn(parser->at, " \t\r\n");
    return *parser->at;
}

static bool accept(Parser *parser, char symbol) {
    if (peek(parser) != symbol) return false;
    parser->at++;
    return true;
}

/* The four digits of \uXXXX. */
static unsigned long hexadecimal(Parser *parser) {
    char digits[5] = {0};
    for (int i = 0; i < 4 && parser->at[i]; i++) digits[i] = parser->at[i];
    if (strspn(digits, "0123456789abcdefABCDEF") != 4) fail(parser, "four hexadecimal digits");
    parser->at += 4;
    return strtoul(digits, NULL, 16);
}

/* Behind "\u": the character, which may need a second such escape. */
static unsigned long escaped_character(Parser *parser) {
    unsigned long high = hexadecimal(parser);
    if (high < 0xD800 || high > 0xDBFF || strncmp(parser->at, "\\u", 2)) return high;
    parser->at += 2;
    unsigned long low = hexadecimal(parser);
    if (low < 0xDC00 || low > 0xDFFF) fail(parser, "the second half of a character");
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
}

static void push_text(Parser *parser) {
    static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (!accept(parser, '"')) fail(parser, "a text");
    luaL_Buffer buffer;
    luaL_buffinit(parser->L, &buffer);
    while (*parser->at != '"') {
        unsigned char byte = (unsigned char)*parser->at;
        if (byte < 0x20) fail(parser, "the end of a text");
        parser->at++;
        if (byte != '\\') {
            luaL_addchar(&buffer, (char)byte);
            continue;
        }
        char escape = *parser->at;
        const char *found = escape ? strchr(escapes, escape) : NULL;
        if (!found && escape != 'u') fail(parser, "an escape");
        parser->at++;
        if (found) {
            luaL_addchar(&buffer, meanings[found - escapes]);
        } else {
            lua_pushfstring(parser->L, "%U", escaped_character(parser));
            luaL_addvalue(&buffer);
        }
    }
    parser->at++;
    luaL_pushresult(&buffer);
}

static void push_number(Parser *parser) {
    char digits[64] = {0};
    size_t length = strspn(parser->at, "+-.eE0123456789");
    if (length && length < sizeof digits) memcpy(digits, parser->at, length);
    if (!lua_stringtonumber(parser->L, digits)) fail(parser, "a value");
    if (!isfinite(lua_tonumber(parser->L, -1))) fail(parser, "a number that a double can hold");
    parser->at += length;
}

static void push_object(Parser *parser) {
    lua_newtable(parser->L);
    if (accept(parser, '}')) return;
    do {
        peek(parser);
        push_text(parser);
        if (!accept(parser, ':')) fail(parser, "':'");
        push_value(parser);
        lua_rawset(parser->L, -3);
    } while (accept(parser, ','));
    if (!accept(parser, '}')) fail(parser, "'}'");
}

static void push_array(Parser *parser) {
    lua_newtable(parser->L);
    if (accept(parser, ']')) return;
    int index = 0;
    do {
        push_value(parser);
        lua_rawseti(parser->L, -2, ++index);
    } while (accept(parser, ','));
    if (!accept(parser, ']')) fail(parser, "']'");
}

static bool accept_word(Parser *parser, const char *word) {
    size_t length = strlen(word);
    if (strncmp(parser->at, word, length)) return false;
    parser->at += length;
    return true;
}

static void push_value(Parser *parser) {
    if (parser->depth++ == DEPTH) fail(parser, "fewer brackets");
    luaL_checkstack(parser->L, 8, NULL);
    if (peek(parser) == '"')
        push_text(parser);
    else if (accept(parser, '{'))
        push_object(parser);
    else if (accept(parser, '['))
        push_array(parser);
    else if (accept_word(parser, "true"))
        lua_pushboolean(parser->L, 1);
    else if (accept_word(parser, "false"))
        lua_pushboolean(parser->L, 0);
    else if (accept_word(parser, "null"))
        lua_pushnil(parser->L);
    else
        push_number(parser);
    parser->depth--;
}

void json_push(lua_State *L, const char *text) {
    Parser parser = {.L = L, .text = text, .at = text};
    push_value(&parser);
    if (peek(&parser)) fail(&parser, "the end");
}
