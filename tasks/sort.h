/* sort: what sort and bucket_sort share; they differ in the options that they start from. */
#ifndef TASKS_SORT_H
#define TASKS_SORT_H

#include "tasks/layout.h"

/* Options: StringOptions. */
void sort_generate(const void *options, Rng *rng, size_t length, Example *example);
int32_t sort_solve(const void *options, const int32_t *tokens, size_t t);

#endif
