#include "src/bench.h"

#include "src/simd.h"

enum { CHAINS = 12, ROUNDS = 100000 }; /* independent sums: enough to hide the latency */

/* Returns a number that depends on every operation, so that none is left out. */
static real multiply_add(real seed) {
    Lanes sums[CHAINS];
    const Lanes a = lanes_all((real)0.999 + seed), b = lanes_all((real)1e-4);
    for (int chain = 0; chain < CHAINS; chain++) sums[chain] = lanes_all((real)chain);
    for (int round = 0; round < ROUNDS; round++)
#pragma GCC unroll 12
        for (int chain = 0; chain < CHAINS; chain++) sums[chain] = sums[chain] * a + b;
    real total = 0;
    for (int chain = 0; chain < CHAINS; chain++) total += lanes_sum(sums[chain]);
    return total;
}

double bench_peak(double seconds) {
    const double start = seconds_now();
    double best = 0;
    real keep = 0;
    while (seconds_now() - start < seconds) {
        int threads = 0;
        const double before = seconds_now();
#pragma omp parallel reduction(+ : threads)
        {
            const real total = multiply_add(keep * 0);
            threads += total < (real)INFINITY;
        }
        const double flops = 2.0 * CHAINS * ROUNDS * LANES * threads;
        best = fmax(best, flops / (seconds_now() - before));
    }
    return best / 1e9;
}
