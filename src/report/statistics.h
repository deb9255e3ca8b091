/* statistics: what a table of results says about chance. Intervals are two-sided; confidence is
   0.95 for 95 %. A number that its data do not define (the deviation of one value) is NaN. */
#ifndef SRC_REPORT_STATISTICS_H
#define SRC_REPORT_STATISTICS_H

#include <stdbool.h>
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

/* The probability that Student's t is farther from 0 than this one. */
double statistics_student_p(double t, double freedom);

/* Mean of n independent values (seeds): Student's interval. */
Interval interval_mean(size_t n, const double *values, double confidence);

/* The same where a normal distribution is out of the question: the percentile interval of the
   bootstrap (Efron 1979), from the means of STATISTICS_RESAMPLES samples of n of the values with
   repetition. Always the same samples for the same n. */
enum { STATISTICS_RESAMPLES = 10000 };
Interval interval_bootstrap(size_t n, const double *values, double confidence);

/* Mean of n shares: Student's interval, or the bootstrap's where Student's would reach below 0 or
   above 1, as it does when seeds split into good and bad ones. */
Interval interval_shares(size_t n, const double *values, double confidence, bool *bootstrap);

/* Is the mean of n values 0? Student's two-sided test; for differences of pairs it is the paired
   test. Values that are all the same have p = 0, or 1 where they are 0. */
typedef struct {
    size_t n;
    double mean, deviation, t, p; /* n < 2: deviation, t and p are NaN */
} MeanTest;
MeanTest statistics_test(size_t n, const double *values);

/* Holm (1979): p values of n tests, adjusted so that rejecting those below a level errs in one or
   more of the tests with at most that probability. NaN is no test and stays NaN. */
void statistics_holm(size_t n, const double *p, double *adjusted);

/* The area under the curve through (log2 x, y), in straight lines, divided by its width: the mean
   height over doublings. x rises. Fewer than two points, or a height that is NaN: NaN. */
double statistics_area(size_t n, const double *x, const double *y);

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
