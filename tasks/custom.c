/* Examples that a function of the config makes: generate(rng, length) returns tokens, targets and
   scored, lists of `length` values each, and as a fourth, if it knows, the distances. What the
   answers mean only the config knows: chance is a guess among all tokens. */
#include "tasks/task.h"

#include <stdio.h>

typedef struct {
    int64_t vocabulary;
    const Function *generate;
} CustomOptions;

static const Option custom_options[] = {
    {.name = "vocabulary",
     .type = OPTION_INTEGER,
     .offset = offsetof(CustomOptions, vocabulary),
     .fallback = 32,
     .min = 2,
     .max = 1048576,
     .doc = "number of different tokens; their ids are 0 to vocabulary - 1"},
    {.name = "generate",
     .type = OPTION_FUNCTION,
     .offset = offsetof(CustomOptions, generate),
     .words = "rng|length",
     .doc = "returns the lists tokens, targets, scored and, if it likes, distance of one example; "
            "rng:below(n) draws from 0 to n - 1, rng:uniform() from [0, 1)"},
    {.name = NULL},
};

static int custom_vocabulary(const void *options) {
    return (int)((const CustomOptions *)options)->vocabulary;
}

static const char *custom_refuse(const void *options, size_t length) {
    (void)length; /* generate says so itself */
    return ((const CustomOptions *)options)->generate ? NULL : "needs generate, a function";
}

static void custom_generate(const void *options, Rng *rng, size_t length, Example *example) {
    const CustomOptions *o = options;
    Generator *generator = o->generate->generator;
    generator->generate(generator, rng, length, (int)o->vocabulary, example);
}

static const char *custom_failed(const void *options) {
    return ((const CustomOptions *)options)->generate->generator->reason;
}

static double custom_chance(const void *options) {
    return 1.0 / (double)((const CustomOptions *)options)->vocabulary;
}

static const char *custom_token_text(const void *options, int32_t token, char text[32]) {
    (void)options;
    snprintf(text, 32, "%d", token);
    return text;
}

const Task task_custom = {
    .name = "custom",
    .summary = "what a function of the config makes",
    .source = "the function generate of the config",
    .options = custom_options,
    .options_size = sizeof(CustomOptions),
    .vocabulary = custom_vocabulary,
    .refuse = custom_refuse,
    .generate = custom_generate,
    .failed = custom_failed,
    .chance = custom_chance,
    .token_text = custom_token_text,
};
