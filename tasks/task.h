/* task: the contract of a synthetic task. One file a task, one line TASK(name) in tasks/list.h;
   nothing else changes. A task turns a random stream into one example of a given length and says
   which tokens are scored; it knows nothing of models, encodings, batches or threads. */
#ifndef TASKS_TASK_H
#define TASKS_TASK_H

#include "src/base.h"
#include "src/option.h"
#include "src/rng.h"

/* One example of `length` tokens, all arrays [length], overwritten by generate(). At place t the
   model has read tokens[0..t] and must answer targets[t] where scored[t]. distance[t] is how many
   tokens back from t the farthest token lies that the answer at t needs (0 where not scored): it
   separates short relations from long ones. */
typedef struct {
    int32_t *tokens;
    int32_t *targets; /* a token where scored; elsewhere the next token, or 0 */
    uint8_t *scored;
    int32_t *distance;
} Example;

/* Makes examples by a function of the config; an option of type OPTION_FUNCTION leads to it. */
typedef struct Generator Generator;
struct Generator {
    /* NULL, or the reason why there is no example, which then stays in `reason`. Ids are
       0 .. vocabulary-1, and at least one place is scored. */
    const char *(*generate)(Generator *generator, Rng *rng, size_t length, int vocabulary,
                            Example *example);
    char *reason;
};

typedef struct Task {
    const char *name;
    const char *summary; /* one line */
    const char *source;  /* paper, section, and what differs from it */
    const Option *options;
    size_t options_size; /* <= OPTION_STRUCT_SIZE */

    /* Ids are 0 .. vocabulary-1. */
    int (*vocabulary)(const void *options);

    /* NULL when the task can make an example of that length with these options, otherwise the
       reason as a clause ("needs at least 2 * pairs + 2 = 18 tokens"), valid until the next
       call. */
    const char *(*refuse)(const void *options, size_t length);

    /* One example; refuse() has said NULL. Draws only from rng. */
    void (*generate)(const void *options, Rng *rng, size_t length, Example *example);

    /* NULL, or the reason why generate() could not make the last example: a function of the config
       may fail. NULL as a hook: it always can. */
    const char *(*failed)(const void *options);

    /* Probability that a uniform guess among the answers that are possible at a scored place is
       right: the line called "random" in results. */
    double (*chance)(const void *options);

    /* The token as a person reads it ("k17", "SEP", "a"), in a buffer of the caller. */
    const char *(*token_text)(const void *options, int32_t token, char text[32]);

    /* Whether a model may look both ways (model.causal = false): no scored answer stands in the
       tokens that it reads, since answers go to empty slots or to masked tokens. NULL: it may not.
       solve() then reads all `length` tokens of the example. */
    bool (*masked)(const void *options);

    /* The right answer at place t from tokens[0..t] alone, by plain search: the solver of the
       tests, and the proof that the example can be answered from its context. NULL where it does
       not follow from it (text, custom). */
    int32_t (*solve)(const void *options, const int32_t *tokens, size_t t);
} Task;

/* How tasks print symbol 0, 1, 2, ...: a..z, A..Z, 0..9, then #62, #63, ... */
const char *task_symbol(int32_t symbol, char text[32]);

/* The registry, in the order of list.h. */
extern const Task *const tasks[];
extern const size_t tasks_count;
const Task *task_find(const char *name); /* NULL when there is none */

#endif
