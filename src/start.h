/* start: the weights that a run starts from, when they are those of another run
   (train.init_from). Parameters are matched by name and shape; a table of positions may be longer
   than the file's, and is then filled in by its encoding (extend). Moments start at 0. */
#ifndef SRC_START_H
#define SRC_START_H

#include "src/config.h"
#include "src/model/model.h"

/* NULL, or why the run cannot start from that file, as a sentence; NULL too where it starts from
   drawn weights. Call it before the first OpenMP region (store_verify). */
const char *start_refuse(const Config *config);

/* Ends the program with EXIT_USAGE where start_refuse has a reason. */
void start_check(const Config *config);

/* Fills the model's values from the file, if there is one. NULL, or one sentence. */
const char *start_read(const Config *config, Model *model);

#endif
