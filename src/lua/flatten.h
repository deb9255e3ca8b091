/* flatten: the resolved config of a result file as keys and values, as a command line writes them:

       model.encoding  rope        model.encoding.base  10000      train.length  8..16
       evaluate.lengths  16,32     train.stages.2.steps  100       seed  3

   Texts stand without quotes. A config with one stage has train.steps, train.length, train.batch.
   Options of the task in a stage are left out where they are those of the task. */
#ifndef SRC_LUA_FLATTEN_H
#define SRC_LUA_FLATTEN_H

#include <stddef.h>

typedef struct {
    char *key, *value;
} FlatKey;

typedef struct {
    size_t count, room;
    FlatKey *list; /* sorted by key */
} FlatKeys;

/* The JSON may be foreign: NULL, or a sentence why it is none (free). */
char *flatten(const char *json, FlatKeys *keys);
void flatten_free(FlatKeys *keys);

/* The value of the key, or NULL. */
const char *flatten_find(const FlatKeys *keys, const char *key);

#endif
