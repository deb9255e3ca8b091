#include "src/option.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base.h"
#include "src/json.h"

/* Every integer in a Lua text: "{ 256, 512 }", "{ from = 64, to = 128 }". */
static void read_integers(const char *text, IntegerList *list) {
    list->count = 0;
    while (*(text += strcspn(text, "-0123456789"))) {
        CHECK(list->count < OPTION_LIST_SIZE, "a default with too many values");
        char *end;
        list->values[list->count++] = strtoll(text, &end, 10);
        text = end;
    }
}

void option_defaults(const Option *table, void *options) {
    for (const Option *option = table; option && option->name; option++) {
        void *field = (char *)options + option->offset;
        const char *text = option->text ? option->text : "";
        switch (option->type) {
        case OPTION_BOOLEAN: *(bool *)field = option->fallback != 0; break;
        case OPTION_INTEGER: *(int64_t *)field = (int64_t)option->fallback; break;
        case OPTION_NUMBER:
        case OPTION_SCHEDULE: *(double *)field = option->fallback; break;
        case OPTION_CHOICE: *(int *)field = (int)option->fallback; break;
        case OPTION_STRING:
            CHECK(strlen(text) < OPTION_TEXT_SIZE, "the default of %s is too long", option->name);
            memset(field, 0, OPTION_TEXT_SIZE);
            strcpy(field, text);
            break;
        case OPTION_FILE:
            CHECK(strlen(text) < OPTION_TEXT_SIZE, "the default of %s is too long", option->name);
            memset(field, 0, sizeof(File));
            strcpy(((File *)field)->path, text);
            break;
        case OPTION_INTEGERS: read_integers(text, field); break;
        case OPTION_SPAN: {
            Span *span = field;
            span->range = strstr(text, "from") != NULL;
            read_integers(text, &span->list);
            break;
        }
        case OPTION_FUNCTION: *(const Function **)field = NULL; break;
        }
    }
}

const Option *option_find(const Option *table, const char *name) {
    for (const Option *option = table; option && option->name; option++)
        if (!strcmp(option->name, name)) return option;
    return NULL;
}

static char *format_list(const IntegerList *list) {
    char *text = copy_text("{");
    for (int i = 0; i < list->count; i++) {
        char *longer = format_text("%s%s %lld", text, i ? "," : "", (long long)list->values[i]);
        free(text);
        text = longer;
    }
    char *whole = format_text("%s }", text);
    free(text);
    return whole;
}

static char *format_string(const char *string) {
    char quoted[4 * OPTION_TEXT_SIZE + 3], *to = quoted;
    *to++ = '"';
    for (; *string; string++) {
        unsigned char byte = (unsigned char)*string;
        if (byte < 0x20 || byte == 0x7f) {
            to += sprintf(to, "\\%03d", byte);
        } else {
            if (byte == '"' || byte == '\\') *to++ = '\\';
            *to++ = (char)byte;
        }
    }
    strcpy(to, "\"");
    return copy_text(quoted);
}

char *option_format(const Option *option, const void *options) {
    const void *field = (const char *)options + option->offset;
    char text[64];
    switch (option->type) {
    case OPTION_BOOLEAN: return copy_text(*(const bool *)field ? "true" : "false");
    case OPTION_INTEGER: return format_text("%lld", (long long)*(const int64_t *)field);
    case OPTION_NUMBER:
    case OPTION_SCHEDULE: return copy_text(json_number_text(*(const double *)field, text));
    case OPTION_CHOICE:
        return format_text("\"%s\"", option_word(option->words, *(const int *)field, text));
    case OPTION_STRING: return format_string(field);
    case OPTION_FILE: return format_string(((const File *)field)->path);
    case OPTION_INTEGERS: return format_list(field);
    case OPTION_SPAN: {
        const Span *span = field;
        const int64_t *values = span->list.values;
        if (span->range)
            return format_text("{ from = %lld, to = %lld }", (long long)values[0],
                               (long long)values[1]);
        if (span->list.count == 1) return format_text("%lld", (long long)values[0]);
        return format_list(&span->list);
    }
    case OPTION_FUNCTION:
        if (*(const Function *const *)field) return copy_text("function");
        return copy_text(option->text ? option->text : "");
    }
    return copy_text("");
}

/* "half, full or none" with last_comma " or " */
static char *word_list(const char *words, const char *last_comma) {
    char word[64], *text = copy_text("");
    for (int i = 0; *option_word(words, i, word); i++) {
        char next[64];
        bool last = !*option_word(words, i + 1, next);
        char *longer = format_text("%s%s%s", text, !i ? "" : last ? last_comma : ", ", word);
        free(text);
        text = longer;
    }
    return text;
}

static char *function_words(const char *words) {
    char *list = word_list(words, ", "), *text = format_text("function(%s)", list);
    free(list);
    return text;
}

/* " from 1 to 64", " of at least 0", "" */
static const char *range_text(const Option *option, char text[96]) {
    char min[32], max[32];
    bool from = isfinite(option->min), to = isfinite(option->max);
    if (from) json_number_text(option->min, min);
    if (to) json_number_text(option->max, max);
    *text = 0;
    if (from && to)
        snprintf(text, 96, " from %s to %s", min, max);
    else if (from)
        snprintf(text, 96, " of at least %s", min);
    else if (to)
        snprintf(text, 96, " of at most %s", max);
    return text;
}

char *option_allowed(const Option *option) {
    char text[96];
    switch (option->type) {
    case OPTION_BOOLEAN: return copy_text("true or false");
    case OPTION_INTEGER: return format_text("an integer%s", range_text(option, text));
    case OPTION_NUMBER: return format_text("a number%s", range_text(option, text));
    case OPTION_SCHEDULE:
        return format_text("a number%s, or function(step)", range_text(option, text));
    case OPTION_CHOICE: return word_list(option->words, " or ");
    case OPTION_STRING: return format_text("a text of at most %d bytes", OPTION_TEXT_SIZE - 1);
    case OPTION_FILE: return copy_text("the path of a file in the project folder");
    case OPTION_INTEGERS:
        return format_text("an integer%s, or a list of them", range_text(option, text));
    case OPTION_SPAN:
        return format_text("an integer%s, a list of them, or { from = a, to = b }",
                           range_text(option, text));
    case OPTION_FUNCTION: return function_words(option->words);
    }
    return copy_text("");
}

const char *option_word(const char *words, int index, char word[64]) {
    for (; index > 0 && words; index--) {
        words = strchr(words, '|');
        if (words) words++;
    }
    size_t length = words ? strcspn(words, "|") : 0;
    CHECK(length < 64, "the words of a choice are shorter than 64 bytes");
    if (length) memcpy(word, words, length);
    word[length] = 0;
    return word;
}

int option_choice(const char *words, const char *word) {
    char each[64];
    for (int i = 0; *option_word(words, i, each); i++)
        if (!strcmp(each, word)) return i;
    return -1;
}

const FunctionTable *function_table(const Function *function, size_t length) {
    size_t from = 0, to = function->count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        const size_t found = function->tables[middle].length;
        if (found == length || !found) return &function->tables[middle];
        if (found < length)
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}

const char *option_assign(const Option *table, void *options, const char *text) {
    while (*(text += strspn(text, " "))) {
        const size_t length = strcspn(text, " "), key = strcspn(text, "= ");
        char name[64] = "", value[64] = "";
        if (key + 1 >= length || key >= sizeof name || length - key - 1 >= sizeof value)
            return text;
        memcpy(name, text, key);
        memcpy(value, text + key + 1, length - key - 1);
        const Option *option = option_find(table, name);
        if (!option) return text;
        void *field = (char *)options + option->offset;
        char *end = value + length - key - 1;
        if (option->type == OPTION_BOOLEAN) {
            if (strcmp(value, "true") && strcmp(value, "false")) return text;
            *(bool *)field = *value == 't';
        } else if (option->type == OPTION_CHOICE) {
            const int choice = option_choice(option->words, value);
            if (choice < 0) return text;
            *(int *)field = choice;
        } else if (option->type == OPTION_INTEGER) {
            *(int64_t *)field = strtoll(value, &end, 10);
        } else if (option->type == OPTION_NUMBER) {
            *(double *)field = strtod(value, &end);
        } else {
            return text;
        }
        if (*end) return text;
        text += length;
    }
    return NULL;
}
