/* bench: what this machine can do. */
#ifndef SRC_BENCH_H
#define SRC_BENCH_H

/* The peak of multiply-add in registers over all threads, in GFLOP/s of `real`, measured for about
   that many seconds. */
double bench_peak(double seconds);

#endif
