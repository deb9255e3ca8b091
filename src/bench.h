/* bench: what this machine can do. */
#ifndef SRC_BENCH_H
#define SRC_BENCH_H

/* The peak of multiply-add in registers over all threads, in GFLOP/s of `real`, measured for about
   that many seconds. */
double bench_peak(double seconds);

/* The same for a product of 2048 x 2048 x 2048, block by block by src/gemm.h. */
double bench_product_peak(double seconds);

/* Ticks of the time stamp counter in a second / 1e9; NaN where there is none. It is the base clock
   of x86-64, which a busy core may exceed. */
double bench_counter_ghz(void);

#endif
