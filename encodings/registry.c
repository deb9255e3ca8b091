#include "encodings/encoding.h"

#include <string.h>

#define ENCODING(name) extern const Encoding encoding_##name;
#include "encodings/list.h"
#undef ENCODING

#define ENCODING(name) &encoding_##name,
const Encoding *const encodings[] = {
#include "encodings/list.h"
};
#undef ENCODING

const size_t encoding_count = sizeof encodings / sizeof *encodings;

const Encoding *encoding_find(const char *name) {
    for (size_t i = 0; i < encoding_count; i++)
        if (!strcmp(encodings[i]->name, name)) return encodings[i];
    return NULL;
}
