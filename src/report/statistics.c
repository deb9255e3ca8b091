#include "src/report/statistics.h"

#include <float.h>
#include <math.h>

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
