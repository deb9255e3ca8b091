/* statistics: what a table of results says about chance. Intervals are two-sided; confidence is
   0.95 for 95 %. A number that its data do not define (the deviation of one value) is NaN. */
#ifndef SRC_REPORT_STATISTICS_H
#define SRC_REPORT_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    double low, high;
} Interval;

double statistics_mean(size_t n, const double *values);
double statistics_deviation(size_t n, const double *values); /* of a sample: divides by n - 1 */

/* The number that Student's t exceeds with probability `tail`, 0 < tail <= 0.5. freedom INFINITY
   is the normal distribution. */
double statistics_student(double tail, double freedom);

/* Mean of n independent values (seeds): Student's interval. */
Interval interval_mean(size_t n, const double *values, double confidence);

/* A share of independent trials (sequences right): Wilson's interval. */
Interval interval_share(int64_t right, int64_t trials, double confidence);

/* A share of trials that come in clusters and are alike within one (tokens of a sequence):
   Wilson's interval at the effective number of trials of Korn & Graubard (1998), "Confidence
   intervals for proportions with small expected number of positive counts estimated from survey
   data", at most the true one. Where all or none are right, so that the spread between clusters
   says nothing, a cluster counts as one trial. */
Interval interval_clustered(size_t clusters, const int64_t *right, const int64_t *trials,
                            double confidence);

#endif
