/* Gradients against central differences, in the double build. */
#ifndef TESTS_GRADIENT_CHECK_H
#define TESTS_GRADIENT_CHECK_H

#include "tests/small_model.h"

/* Every parameter of the model on the batch: |g - difference| <= 1e-8 + 1e-6 |difference|. Returns
   the number of values that were checked; on the first that fails, fails the test and names it.
   `stride` > 1 checks every stride-th value of each parameter. */
size_t gradient_check(const char *what, Model *model, const SmallBatch *batch, size_t stride);

#endif
