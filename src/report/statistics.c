#include "src/report/statistics.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "src/base.h"
#include "src/rng.h"

double statistics_mean(size_t n, const double *values) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += values[i];
    return n ? sum / (double)n : (double)NAN;
}

double statistics_deviation(size_t n, const double *values) {
    if (n < 2) return (double)NAN;
    double mean = statistics_mean(n, values), sum = 0;
    for (size_t i = 0; i < n; i++) sum += (values[i] - mean) * (values[i] - mean);
    return sqrt(sum / (double)(n - 1));
}

/* The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method. */
static double beta_fraction(double x, double a, double b) {
    double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), value = d;
    for (double m = 1; m < 1e6; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        value *= c * d;
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        value *= c * d;
        if (fabs(c * d - 1) < 4 * DBL_EPSILON) break;
    }
    return value;
}

/* The regularised incomplete beta function I_x(a, b); rest is 1 - x without cancellation. */
static double beta_share(double x, double rest, double a, double b) {
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(rest));
    if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(x, a, b) / a;
    return 1 - front * beta_fraction(rest, b, a) / b;
}

/* P(T > t) for t > 0. */
static double student_tail(double t, double freedom) {
    if (isinf(freedom)) return erfc(t / sqrt(2)) / 2;
    double sum = freedom + t * t;
    return beta_share(freedom / sum, t * t / sum, freedom / 2, 0.5) / 2;
}

double statistics_student_p(double t, double freedom) {
    if (isnan(t) || isinf(t)) return isnan(t) ? t : 0;
    return t != 0 ? 2 * student_tail(fabs(t), freedom) : 1;
}

double statistics_student(double tail, double freedom) {
    double low = 0, high = 1;
    while (student_tail(high, freedom) > tail) low = high, high *= 2;
    for (;;) {
        double middle = (low + high) / 2;
        if (middle <= low || middle >= high) return middle;
        *(student_tail(middle, freedom) > tail ? &low : &high) = middle;
    }
}

Interval interval_mean(size_t n, const double *values, double confidence) {
    if (n < 2) return (Interval){(double)NAN, (double)NAN};
    double mean = statistics_mean(n, values);
    double half = statistics_student((1 - confidence) / 2, (double)(n - 1)) *
                  statistics_deviation(n, values) / sqrt((double)n);
    return (Interval){mean - half, mean + half};
}

/* The share q of the sorted values, between two of them in a straight line. */
static double quantile(size_t n, const double *sorted, double q) {
    double place = q * (double)(n - 1);
    size_t below = least((size_t)place, n - 1), above = least(below + 1, n - 1);
    return sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
}

Interval interval_bootstrap(size_t n, const double *values, double confidence) {
    if (n < 2) return (Interval){(double)NAN, (double)NAN};
    double *means = ALLOCATE(STATISTICS_RESAMPLES, double);
    for (size_t sample = 0; sample < STATISTICS_RESAMPLES; sample++) {
        Rng rng = rng_stream(0, RNG_BOOTSTRAP, n, sample);
        double sum = 0;
        for (size_t i = 0; i < n; i++) sum += values[rng_below(&rng, n)];
        means[sample] = sum / (double)n;
    }
    qsort(means, STATISTICS_RESAMPLES, sizeof *means, compare_numbers);
    double tail = (1 - confidence) / 2;
    Interval interval = {quantile(STATISTICS_RESAMPLES, means, tail),
                         quantile(STATISTICS_RESAMPLES, means, 1 - tail)};
    free(means);
    return interval;
}

Interval interval_shares(size_t n, const double *values, double confidence, bool *bootstrap) {
    Interval student = interval_mean(n, values, confidence);
    *bootstrap = student.low < 0 || student.high > 1;
    return *bootstrap ? interval_bootstrap(n, values, confidence) : student;
}

MeanTest statistics_test(size_t n, const double *values) {
    MeanTest test = {.n = n,
                     .mean = statistics_mean(n, values),
                     .deviation = statistics_deviation(n, values),
                     .t = (double)NAN,
                     .p = (double)NAN};
    if (n < 2) return test;
    test.t = test.mean != 0 ? test.mean / (test.deviation / sqrt((double)n)) : 0;
    test.p = statistics_student_p(test.t, (double)(n - 1));
    return test;
}

void statistics_holm(size_t n, const double *p, double *adjusted) {
    double *sorted = ALLOCATE(most(n, 1), double), *stepped = ALLOCATE(most(n, 1), double);
    size_t tests = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(p[i])) sorted[tests++] = p[i];
    qsort(sorted, tests, sizeof *sorted, compare_numbers);
    for (size_t k = 0; k < tests; k++)
        stepped[k] = fmax(k ? stepped[k - 1] : 0, fmin(1, (double)(tests - k) * sorted[k]));
    for (size_t i = 0; i < n; i++) {
        const double *found =
            isnan(p[i]) ? NULL : bsearch(&p[i], sorted, tests, sizeof *sorted, compare_numbers);
        adjusted[i] = found ? stepped[found - sorted] : p[i];
    }
    free(sorted);
    free(stepped);
}

double statistics_area(size_t n, const double *x, const double *y) {
    if (n < 2) return (double)NAN;
    double area = 0;
    for (size_t i = 1; i < n; i++) area += log2(x[i] / x[i - 1]) * (y[i] + y[i - 1]) / 2;
    return area / log2(x[n - 1] / x[0]);
}

static Interval wilson(double share, double trials, double confidence) {
    double z = statistics_student((1 - confidence) / 2, HUGE_VAL), z2 = z * z / trials;
    double centre = (share + z2 / 2) / (1 + z2);
    double half = sqrt(share * (1 - share) * z2 + z2 * z2 / 4) / (1 + z2);
    return (Interval){share > 0 ? centre - half : 0, share < 1 ? centre + half : 1};
}

Interval interval_share(int64_t right, int64_t trials, double confidence) {
    if (trials < 1) return (Interval){(double)NAN, (double)NAN};
    return wilson((double)right / (double)trials, (double)trials, confidence);
}

Interval interval_clustered(size_t clusters, const int64_t *right, const int64_t *trials,
                            double confidence) {
    double all = 0, hits = 0;
    for (size_t i = 0; i < clusters; i++) all += (double)trials[i], hits += (double)right[i];
    if (!(all > 0)) return (Interval){(double)NAN, (double)NAN};
    double share = hits / all;
    if (clusters < 2 || hits <= 0 || hits >= all)
        return wilson(share, fmin(all, (double)clusters), confidence);

    /* The variance of a ratio of sums over clusters. */
    double n = (double)clusters, spread = 0;
    for (size_t i = 0; i < clusters; i++) {
        double excess = (double)right[i] - share * (double)trials[i];
        spread += excess * excess;
    }
    double variance = n / (n - 1) * spread / (all * all);
    double tail = (1 - confidence) / 2;
    double few = statistics_student(tail, HUGE_VAL) / statistics_student(tail, n - 1);
    double effective = share * (1 - share) / variance * few * few;
    return wilson(share, fmin(all, effective), confidence);
}
