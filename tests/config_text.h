/* config_text: configs that a test writes on the spot, in a folder of its own. */
#ifndef TESTS_CONFIG_TEXT_H
#define TESTS_CONFIG_TEXT_H

#include "src/lua/config.h"

/* A checked fixture: makes and removes the folder, frees the last config. */
void config_text_open(void);
void config_text_close(void);

/* Writes a file into the folder; its path, until the next call. Folders of `name` are made. */
const char *config_text_write(const char *name, const char *text);

/* The config of a file, or of a text written to x.lua, with overrides separated by spaces; fails
   the test when there is a mistake. Until the next call. */
const Config *config_text_load_file(const char *path, const char *overrides);
const Config *config_text_load(const char *text, const char *overrides);

/* The mistakes of a file or a text, one a line, without the name of the folder in front; fails the
   test when there are none. Until the next call. */
const char *config_text_refusal_of_file(const char *path, const char *overrides);
const char *config_text_refusal(const char *text, const char *overrides);

/* The same for studies and sweeps of a config. */
const Study *config_text_study(const char *text, const char *overrides);
const char *config_text_study_refusal_of_file(const char *path, const char *overrides);
const char *config_text_study_refusal(const char *text, const char *overrides);

/* The line of config->sources that the key has, without the key and the name of the folder:
   "256  x.lua:3"; "" when there is none. */
const char *config_text_source(const Config *config, const char *key);

#endif
