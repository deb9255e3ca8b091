#include "src/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base.h"
#include "src/utf8.h"

static void append(Json *json, const char *text, size_t length) {
    if (json->length + length + 1 > json->room) {
        size_t room = most(256, 2 * (json->length + length + 1));
        char *larger = ALLOCATE(room, char);
        if (json->length) memcpy(larger, json->text, json->length);
        free(json->text);
        json->text = larger;
        json->room = room;
    }
    memcpy(json->text + json->length, text, length);
    json->length += length;
    json->text[json->length] = 0;
}

/* A comma where a value or key follows another one. */
static void separate(Json *json) {
    char last = json->length ? json->text[json->length - 1] : '[';
    if (!strchr("[{:", last)) append(json, ",", 1);
}

static void append_value(Json *json, const char *text) {
    separate(json);
    append(json, text, strlen(text));
}

void json_open(Json *json, char bracket) {
    separate(json);
    append(json, &bracket, 1);
}

void json_close(Json *json, char bracket) {
    append(json, &bracket, 1);
}

void json_key(Json *json, const char *key) {
    json_text(json, key);
    append(json, ":", 1);
}

void json_text(Json *json, const char *value) {
    if (!value) {
        append_value(json, "null");
        return;
    }
    separate(json);
    append(json, "\"", 1);
    while (*value) {
        uint32_t code;
        size_t bytes = utf8_decode(value, &code);
        char escaped[8];
        if (code == '"' || code == '\\') {
            append(json, "\\", 1);
            append(json, value, 1);
        } else if (code < 0x20) {
            append(json, escaped, (size_t)snprintf(escaped, sizeof escaped, "\\u%04x", code));
        } else if (code == 0xFFFD) {
            append(json, "\xEF\xBF\xBD", 3);
        } else {
            append(json, value, bytes);
        }
        value += bytes;
    }
    append(json, "\"", 1);
}

void json_number(Json *json, double value) {
    char text[32];
    append_value(json, isfinite(value) ? json_number_text(value, text) : "null");
}

void json_integer(Json *json, int64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    append_value(json, text);
}

void json_boolean(Json *json, bool value) {
    append_value(json, value ? "true" : "false");
}

void json_end_line(Json *json) {
    append(json, "\n", 1);
}

void json_clear(Json *json) {
    json->length = 0;
    if (json->text) json->text[0] = 0;
}

void json_free(Json *json) {
    free(json->text);
    *json = (Json){0};
}

const char *json_number_text(double value, char text[32]) {
    if (!isfinite(value)) return strcpy(text, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
    /* "d.ddde±xx", whose point may be another character in another locale: only digits and the
       exponent are taken from it. */
    char scientific[40];
    for (int more = 0; more <= 16; more++) {
        snprintf(scientific, sizeof scientific, "%.*e", more, fabs(value));
        if (strtod(scientific, NULL) == fabs(value)) break;
    }
    char digits[20];
    int count = 0;
    const char *at = scientific;
    for (; *at != 'e'; at++)
        if (*at >= '0' && *at <= '9') digits[count++] = *at;
    digits[count] = 0;
    int before = atoi(at + 1) + 1; /* digits before the decimal point */

    char *to = text;
    if (value < 0) *to++ = '-';
    bool positional = before > -6 && before <= 21;
    int first = positional && before <= 0 ? before - 1 : 0, point = positional ? before : 1;
    int end = positional && before > count ? before : count;
    for (int i = first; i < end; i++) {
        if (i == point) *to++ = '.';
        *to++ = '0';
        if (i >= 0 && i < count) to[-1] = digits[i];
    }
    *to = 0;
    if (!positional) snprintf(to, 8, "e%+d", before - 1);
    return text;
}
