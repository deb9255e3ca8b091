/* verdict: what the results say of a claim.

   A side is the one group whose runs have all its values; its trained seeds are those that reach
   claim->trained in the claim's metric (token accuracy for the loss) at every evaluated length
   within training. The verdict is the first that applies:

   - undecided: a side is no group, or several; the sides have different trained lengths; the length
     was not evaluated or is not defined;
   - not trained: on a side fewer than 80 % of the seeds are trained;
   - undecided: fewer than two seeds that both sides have;
   - reproduced: the mean difference by seed has the claimed sign, and p of the two-sided paired t
     test, adjusted by Holm over all claims that got this far, is at most 0.05;
   - not reproduced: the same with the other sign;
   - undecided otherwise. */
#ifndef SRC_VERDICT_H
#define SRC_VERDICT_H

#include "src/comparison.h"

typedef enum {
    VERDICT_REPRODUCED,
    VERDICT_NOT_REPRODUCED,
    VERDICT_UNDECIDED,
    VERDICT_NOT_TRAINED
} VerdictKind;
extern const char *const verdict_words[];
#define VERDICT_TRAINED_SHARE 0.8

typedef struct {
    size_t seeds, trained;  /* seeds with results, those that are trained */
    double in_distribution; /* mean over seeds of the worst accuracy at a trained length */
    double mean;            /* of the metric at the length, over the seeds of both sides */
} VerdictSide;

typedef struct {
    VerdictKind kind;
    char *reason;   /* of "undecided" and "not trained"; "": the interval holds 0 */
    int64_t length; /* the evaluated length that is nearest to the claimed multiple, within 3 %;
                       0: none */
    VerdictSide left, right; /* right.mean: the value, where the claim has one */
    MeanTest test;
    double holm;       /* NaN: did not get as far as the test */
    Interval interval; /* of the difference, as comparison_adjusted */
} Verdict;

/* [claim_count], memory of the caller (verdicts_free). The comparison has groups of one config
   each: it was made without `by`. */
Verdict *verdicts_make(const Comparison *comparison, size_t claim_count, const Claim *claims);
void verdicts_free(size_t count, Verdict *verdicts);

#endif
