/* claim: a statement of the literature as a comparison that the results of a study decide
   (src/comparison.h says how). A study holds a list of them:

       { "nope ahead of rope", task = "repeat_token", left = { ["model.encoding"] = "nope" },
         right = { ["model.encoding"] = "rope" }, length = 1.25, relation = ">" },
       { "rope collapses", task = "copy", left = { ["model.encoding"] = "rope" }, length = 2,
         relation = "<", value = 0.1, metric = "token_accuracy" },
*/
#ifndef SRC_CLAIM_H
#define SRC_CLAIM_H

#include "src/base.h"

enum { CLAIM_KEYS = 8, CLAIM_TEXT = 128 };

/* Words of `metric`; the columns of /evaluate/final. */
typedef enum { METRIC_SEQUENCE_ACCURACY, METRIC_TOKEN_ACCURACY, METRIC_LOSS, METRICS } Metric;
#define METRIC_WORDS                                                                               \
    { "sequence_accuracy", "token_accuracy", "loss" }

typedef struct {
    char key[CLAIM_TEXT];   /* as in a config: "model.encoding", "model.encoding.fraction" */
    char value[CLAIM_TEXT]; /* "rope", "0.25", "true": a text without quotes; numbers are compared
                               as numbers */
} ClaimKey;

/* Whether a config's value of the key, as a text, is that of the claim. */
bool claim_key_is(const ClaimKey *key, const char *value);

/* Runs whose configs have all these values. */
typedef struct {
    int count;
    ClaimKey keys[CLAIM_KEYS];
} ClaimSide;

typedef struct {
    char name[CLAIM_TEXT];
    ClaimSide left, right; /* `task = "copy"` of the claim stands in both as the key "task" */
    bool against_value;    /* left is compared with `value`; right is empty */
    double value;
    Metric metric;  /* default: sequence_accuracy */
    bool less;      /* relation "<": left is less; otherwise ">" */
    double length;  /* a multiple of the trained length, > 0 */
    double trained; /* what a seed has to reach at the trained lengths; default 0.99, or the
                       ceiling that the study states for the task */
} Claim;

#define CLAIM_TRAINED 0.99

#endif
