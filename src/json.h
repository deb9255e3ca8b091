/* json: writes JSON text. Numbers are exact and do not depend on the locale; texts that are not
   UTF-8 get U+FFFD for each bad byte.

       Json json = {0};
       json_open(&json, '{');
       json_key(&json, "step");   json_integer(&json, 100);
       json_key(&json, "loss");   json_number(&json, 0.25);
       json_close(&json, '}');    // json.text is {"step":100,"loss":0.25}
       json_free(&json);

   Commas come by themselves. */
#ifndef SRC_JSON_H
#define SRC_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    char *text; /* NUL-terminated; NULL while empty */
    size_t length, room;
} Json;

void json_open(Json *json, char bracket);  /* '{' or '[' */
void json_close(Json *json, char bracket); /* '}' or ']' */
void json_key(Json *json, const char *key);
void json_text(Json *json, const char *value); /* NULL: null */
void json_number(Json *json, double value);    /* NaN and infinity: null */
void json_integer(Json *json, int64_t value);
void json_boolean(Json *json, bool value);

void json_end_line(Json *json); /* a newline after a whole value, for logs of a value a line */
void json_clear(Json *json);    /* empty again, memory kept */
void json_free(Json *json);

/* The value in the fewest significant digits that read back as the same double, laid out as
   ECMAScript does ("10000", "0.001", "1e-7", "1.5e+21"; -0 as "0"), or inf, -inf, nan, which are no
   JSON; buffer of the caller. */
const char *json_number_text(double value, char text[32]);

#endif
