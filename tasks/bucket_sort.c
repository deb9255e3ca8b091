/* BOS x1 .. xn SEP _ .. _: sort with few symbols and empty places for the answer. */
#include "tasks/sort.h"

static const Option bucket_sort_options[] = {STRING_OPTIONS(5, true)};

const Task task_bucket_sort = {
    .name = "bucket_sort",
    .summary = "put a string of a few different symbols in rising order, into empty places",
    .source = "Ruoss et al. 2023 (arXiv:2305.16843), bucket sort; here with BOS, SEP between input "
              "and empty places, and an odd context ends with EOS",
    .options = bucket_sort_options,
    .options_size = sizeof(StringOptions),
    .vocabulary = string_vocabulary,
    .refuse = string_refuse,
    .generate = sort_generate,
    .chance = string_chance,
    .token_text = string_token_text,
    .masked = string_masked,
    .solve = sort_solve,
};
