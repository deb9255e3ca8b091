#include "src/bench.h"

#include "src/gemm.h"
#include "src/simd.h"

#include <stdlib.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum {
    CHAINS = 12,     /* independent sums: enough to hide the latency */
    ROUNDS = 1000000 /* milliseconds: threads that sleep need some time to wake */
};

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
    do { /* once at least, however long the machine lets it wait */
        int threads = 0;
        const double before = seconds_now();
#pragma omp parallel reduction(+ : threads)
        {
            const real total = multiply_add(keep * 0);
            threads += total < (real)INFINITY;
        }
        const double flops = 2.0 * CHAINS * ROUNDS * LANES * threads;
        best = fmax(best, flops / (seconds_now() - before));
    } while (seconds_now() - start < seconds);
    return best / 1e9;
}

/* c[SIZE, SIZE] = a b in blocks. Those of b lie one behind the other, as if each were a matrix. */
double bench_product_peak(double seconds) {
    enum { SIZE = 2048, ROWS = 128, INNER = 128, COLUMNS = 256 };
    real *a = ALLOCATE((size_t)SIZE * SIZE, real), *b = ALLOCATE((size_t)SIZE * SIZE, real);
    real *c = ALLOCATE((size_t)SIZE * SIZE, real);
    for (size_t i = 0; i < (size_t)SIZE * SIZE; i++) a[i] = b[i] = (real)(i % 7) - 3;
    const double start = seconds_now();
    double best = 0;
    do {
        const double before = seconds_now();
#pragma omp parallel for schedule(dynamic, 1)
        for (size_t row = 0; row < SIZE; row += ROWS)
            for (size_t block = 0; block < SIZE / COLUMNS * (SIZE / INNER); block++) {
                const size_t column = block / (SIZE / INNER) * COLUMNS;
                const size_t k = block % (SIZE / INNER) * INNER;
                gemm(ROWS, COLUMNS, INNER, a + row * SIZE + k, SIZE, b + block * INNER * COLUMNS,
                     COLUMNS, k > 0, c + row * SIZE + column, SIZE);
            }
        best = fmax(best, 2.0 * SIZE * SIZE * SIZE / (seconds_now() - before));
    } while (seconds_now() - start < seconds);
    free(a);
    free(b);
    free(c);
    return best / 1e9;
}

double bench_counter_ghz(void) {
#if defined(__x86_64__)
    const double start = seconds_now();
    const unsigned long long ticks = __rdtsc();
    while (seconds_now() - start < 0.01) {}
    return (double)(__rdtsc() - ticks) / (seconds_now() - start) / 1e9;
#else
    return (double)NAN;
#endif
}
