/* identity: what a config is once every default is filled in: its values as JSON, where each came
   from, and the name that two runs share exactly when they are the same run. */
#ifndef SRC_IDENTITY_H
#define SRC_IDENTITY_H

#include "src/config.h"

/* Says where the user gave a key ("configs/x.lua:12"); NULL: it has its default. Valid until the
   next call. */
typedef const char *IdentityPlace(void *context, const char *key);

/* Fills config->resolved_json, sources, sha256 and id. */
void identity_fill(Config *config, IdentityPlace *place, void *context);

/* Is it a key that does not change a result ("name", "train.log_every")? Two configs that differ
   in nothing else are the same run. */
bool identity_ignores(const char *key);

#endif
