#include "src/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const verdict_words[] = {"reproduced", "not reproduced", "undecided", "not trained"};

/* ---- sides ----------------------------------------------------------------------------- */

static bool matches(const Outcome *run, const ClaimSide *side) {
    for (int k = 0; k < side->count; k++) {
        const char *value = flatten_find(&run->keys, side->keys[k].key);
        if (!value || !claim_key_is(&side->keys[k], value)) return false;
    }
    return true;
}

/* The one group of that side, or NULL with the reason at the verdict. */
static const Group *find_side(const Comparison *c, const ClaimSide *side, const char *name,
                              Verdict *verdict) {
    const Group *found = NULL;
    for (size_t g = 0; g < c->group_count; g++) {
        const Group *group = &c->groups[g];
        if (!matches(&c->outcomes[group->runs[0]], side)) continue;
        if (found)
            verdict->reason = format_text("%s is several groups: %s: %s, %s: %s", name,
                                          c->blocks[found->block].task, found->label,
                                          c->blocks[group->block].task, group->label);
        if (found) return NULL;
        found = group;
    }
    if (!found) verdict->reason = format_text("%s has no results", name);
    return found;
}

static const Outcome *first_run(const Comparison *c, const Group *group) {
    return &c->outcomes[group->runs[0]];
}

/* The evaluated length nearest to the multiple, 0: none is within 3 %. */
static int64_t find_length(const Outcome *run, double multiple) {
    double wanted = multiple * (double)run->trained_length;
    int64_t found = 0;
    for (size_t i = 0; i < run->length_count; i++) {
        double gap = fabs((double)run->lengths[i].length - wanted);
        if (gap <= 0.03 * wanted && (!found || gap < fabs((double)found - wanted)))
            found = run->lengths[i].length;
    }
    return found;
}

/* Seeds, trained seeds and their accuracy within training. */
static VerdictSide look_at(const Comparison *c, const Group *group, const Claim *claim) {
    Metric metric = claim->metric == METRIC_LOSS ? METRIC_TOKEN_ACCURACY : claim->metric;
    size_t room = c->blocks[group->block].replicate_count, known = 0;
    double *values = ALLOCATE(room, double);
    VerdictSide side = {0};
    comparison_values(c, group, (Quantity){QUANTITY_TRAINED, metric, 0}, values);
    for (size_t s = 0; s < room; s++) {
        if (isnan(values[s])) continue;
        side.trained += values[s] >= claim->trained;
        values[known++] = values[s];
    }
    side.seeds = known;
    side.in_distribution = statistics_mean(known, values);
    free(values);
    return side;
}

static bool is_trained(const VerdictSide *side) {
    return (double)side->trained >= VERDICT_TRAINED_SHARE * (double)side->seeds - 1e-9 &&
           side->seeds;
}

/* ---- one claim ------------------------------------------------------------------------- */

/* The values of both sides at the seeds that both have, those of the left first; n each. */
static double *paired_values(const Comparison *c, const Claim *claim, const Group *left,
                             const Group *right, int64_t length, size_t *n) {
    const Quantity quantity = {QUANTITY_METRIC, claim->metric, length};
    const Block *of_left = &c->blocks[left->block];
    double *a = ALLOCATE(2 * of_left->replicate_count, double), *b = a + of_left->replicate_count;
    comparison_values(c, left, quantity, a);
    if (right) comparison_values(c, right, quantity, b);
    *n = 0;
    for (size_t s = 0; s < of_left->replicate_count; s++) {
        double other = right ? b[s] : claim->value;
        if (isnan(a[s]) || isnan(other)) continue;
        a[*n] = a[s];
        b[(*n)++] = other;
    }
    memmove(a + *n, b, *n * sizeof *b);
    return a;
}

/* Why the sides cannot be compared at the length; NULL: they can. */
static char *find_obstacle(const Comparison *c, const Claim *claim, const Group *left,
                           const Group *right, int64_t length) {
    if (right && right->block != left->block) return copy_text("the sides are of different tasks");
    int64_t trained = first_run(c, left)->trained_length;
    if (right && first_run(c, right)->trained_length != trained)
        return copy_text("the sides were trained at different lengths");
    if (!length || (right && !outcome_at(first_run(c, right), length)))
        return format_text("%.3g x %lld was not evaluated", claim->length, (long long)trained);
    const char *undefined = comparison_undefined(c, left, length);
    if (!undefined && right) undefined = comparison_undefined(c, right, length);
    return undefined ? format_text("not defined: %s", undefined) : NULL;
}

/* Everything but the correction for the number of claims. The differences by seed (free), or NULL
   when the claim does not come to a test. */
static double *test_claim(const Comparison *c, const Claim *claim, Verdict *v) {
    const Group *left = find_side(c, &claim->left, "the left side", v);
    if (!left) return NULL;
    const Group *right = NULL;
    if (!claim->against_value && !(right = find_side(c, &claim->right, "the right side", v)))
        return NULL;
    v->length = find_length(first_run(c, left), claim->length);
    v->left = look_at(c, left, claim);
    if (right) v->right = look_at(c, right, claim);
    v->reason = find_obstacle(c, claim, left, right, v->length);
    if (v->reason) return NULL;

    size_t n;
    double *values = paired_values(c, claim, left, right, v->length, &n);
    v->left.mean = statistics_mean(n, values);
    v->right.mean = right ? statistics_mean(n, values + n) : claim->value;
    for (size_t s = 0; s < n; s++) values[s] -= values[n + s];
    v->test = statistics_test(n, values);
    if (!is_trained(&v->left) || (right && !is_trained(&v->right))) {
        v->kind = VERDICT_NOT_TRAINED;
        const bool at_left = !is_trained(&v->left);
        const VerdictSide *side = at_left ? &v->left : &v->right;
        v->reason = format_text("%zu of %zu seeds reach %g %% on the %s", side->trained,
                                side->seeds, 100 * claim->trained, at_left ? "left" : "right");
    } else if (n < 2) {
        v->reason = format_text("n=%zu", n);
    } else {
        return values;
    }
    free(values);
    return NULL;
}

static void decide(const Claim *claim, const double *differences, Verdict *v) {
    v->interval = comparison_adjusted(v->test.n, differences, v->test.p, v->holm);
    if (v->holm > 0.05) return;
    v->kind = (v->test.mean < 0) == claim->less ? VERDICT_REPRODUCED : VERDICT_NOT_REPRODUCED;
}

Verdict *verdicts_make(const Comparison *c, size_t claim_count, const Claim *claims) {
    Verdict *verdicts = ALLOCATE(most(claim_count, 1), Verdict);
    double **differences = ALLOCATE(most(claim_count, 1), double *);
    double *p = ALLOCATE(most(claim_count, 1), double),
           *holm = ALLOCATE(most(claim_count, 1), double);
    const double none = (double)NAN;
    for (size_t i = 0; i < claim_count; i++) {
        verdicts[i] = (Verdict){.kind = VERDICT_UNDECIDED,
                                .left = {0, 0, none, none},
                                .right = {0, 0, none, none},
                                .test = {0, none, none, none, none},
                                .interval = {none, none}};
        differences[i] = test_claim(c, &claims[i], &verdicts[i]);
        if (!verdicts[i].reason) verdicts[i].reason = copy_text("");
        p[i] = differences[i] ? verdicts[i].test.p : none;
    }
    statistics_holm(claim_count, p, holm);
    for (size_t i = 0; i < claim_count; i++) {
        verdicts[i].holm = holm[i];
        if (differences[i]) decide(&claims[i], differences[i], &verdicts[i]);
        free(differences[i]);
    }
    free(differences);
    free(p);
    free(holm);
    return verdicts;
}

void verdicts_free(size_t count, Verdict *verdicts) {
    for (size_t i = 0; i < count; i++) free(verdicts[i].reason);
    free(verdicts);
}
