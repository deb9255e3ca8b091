#include "src/claim.h"

#include <stdlib.h>
#include <string.h>

bool claim_key_is(const ClaimKey *key, const char *value) {
    char *end_a, *end_b;
    const double a = strtod(key->value, &end_a), b = strtod(value, &end_b);
    if (!strcmp(key->value, value)) return true;
    return *key->value && *value && !*end_a && !*end_b && a == b;
}
