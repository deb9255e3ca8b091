/* simd: vectors of 64 bytes in plain GNU C (two intrinsics, which gcc does not find: gather and
   maximum), and the elementary functions
   that the hot loops need. A real build uses polynomials that inline and vectorise; the double
   build, which exists for gradient checks, uses libm. Everything is elementwise or sums in one
   fixed order, so a row's bits do not depend on its neighbours. */
#ifndef SRC_SIMD_H
#define SRC_SIMD_H

#include "src/base.h"

#include <math.h>
#include <string.h>
#if defined(__AVX512F__) && !defined(REAL_DOUBLE)
#include <immintrin.h>
#endif

enum { LANES = 64 / sizeof(real) };

/* May be loaded from any address of a real. */
typedef real Lanes __attribute__((vector_size(64), aligned(sizeof(real)), may_alias));

#ifdef REAL_DOUBLE
typedef int64_t IntLanes __attribute__((vector_size(64)));
#define LOG2E 1.4426950408889634
#define LN2 0.6931471805599453
#else
typedef int32_t IntLanes __attribute__((vector_size(64)));
#define LOG2E 1.4426950408889634F
#define LN2 0.6931471805599453F
#endif

/* Asks for a row that is read, or written, some rows later. A row of one head lies as far from the
   next as all heads are wide, which the processor does not foresee. May point behind the array. */
enum { ROWS_AHEAD = 8 };
static inline void fetch_to_read(const real *row, size_t width) {
    for (size_t c = 0; c < width; c += LANES) __builtin_prefetch(row + c);
}
static inline void fetch_to_write(const real *row, size_t width) {
    for (size_t c = 0; c < width; c += LANES) __builtin_prefetch(row + c, 1);
}

static inline Lanes lanes_load(const real *from) { return *(const Lanes *)from; }
static inline void lanes_store(real *to, Lanes x) { *(Lanes *)to = x; }
static inline Lanes lanes_all(real x) { return x - (Lanes){0}; }

static inline Lanes lanes_select(IntLanes mask, Lanes yes, Lanes no) {
    return (Lanes)((mask & (IntLanes)yes) | (~mask & (IntLanes)no));
}
/* a > b ? a : b, and a < b ? a : b: of a NaN and a number it is b. */
static inline Lanes lanes_most(Lanes a, Lanes b) {
#if defined(__AVX512F__) && !defined(REAL_DOUBLE)
    return (Lanes)_mm512_max_ps((__m512)a, (__m512)b);
#else
    return lanes_select(a > b, a, b);
#endif
}
static inline Lanes lanes_least(Lanes a, Lanes b) {
#if defined(__AVX512F__) && !defined(REAL_DOUBLE)
    return (Lanes)_mm512_min_ps((__m512)a, (__m512)b);
#else
    return lanes_select(a < b, a, b);
#endif
}

/* A tree of shuffles: gcc 12 ends a plain vector reduction in dependent scalar additions. */
#define LANES_FOLD(a, OP, ...) a = OP(a, __builtin_shufflevector(a, a, __VA_ARGS__))
#ifdef REAL_DOUBLE
#define LANES_TREE(a, OP)                                                                          \
    LANES_FOLD(a, OP, 4, 5, 6, 7, 0, 1, 2, 3);                                                     \
    LANES_FOLD(a, OP, 2, 3, 0, 1, 6, 7, 4, 5);                                                     \
    LANES_FOLD(a, OP, 1, 0, 3, 2, 5, 4, 7, 6)
#else
#define LANES_TREE(a, OP)                                                                          \
    LANES_FOLD(a, OP, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);                       \
    LANES_FOLD(a, OP, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);                       \
    LANES_FOLD(a, OP, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);                       \
    LANES_FOLD(a, OP, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)
#endif
#define LANES_PLUS(a, b) ((a) + (b))

static inline real lanes_sum(Lanes a) {
    LANES_TREE(a, LANES_PLUS);
    return a[0];
}
static inline real lanes_greatest(Lanes a) {
    LANES_TREE(a, lanes_most);
    return a[0];
}

/* x, but 0 in lanes below `from` and from `to` on; both may lie outside. */
static inline Lanes lanes_between(Lanes x, ptrdiff_t from, ptrdiff_t to) {
#ifdef REAL_DOUBLE
    const IntLanes lane = {0, 1, 2, 3, 4, 5, 6, 7};
#else
    const IntLanes lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#endif
    return (Lanes)((IntLanes)x & (lane >= (int32_t)from) & (lane < (int32_t)to));
}

/* Loads the first `count` (< LANES) elements, the rest `fill`. */
static inline Lanes lanes_load_part(const real *from, size_t count, real fill) {
    Lanes x = lanes_all(fill);
    real part[LANES];
    memcpy(part, &x, sizeof part);
    memcpy(part, from, count * sizeof(real));
    memcpy(&x, part, sizeof part);
    return x;
}
static inline void lanes_store_part(real *to, Lanes x, size_t count) {
    memcpy(to, &x, count * sizeof(real));
}

/* from[at[lane]]. gcc's general tuning makes sixteen loads and as many shuffles of it, three times
   as slow. */
static inline Lanes lanes_gather(const real *from, const int32_t at[LANES]) {
#if defined(__AVX512F__) && !defined(REAL_DOUBLE)
    return (Lanes)_mm512_i32gather_ps(_mm512_loadu_si512(at), from, sizeof(real));
#else
    Lanes x = {0};
    for (int lane = 0; lane < LANES; lane++) x[lane] = from[at[lane]];
    return x;
#endif
}

/* 2^x: relative error below 2e-7 (float) where the result is a normal number, exactly 0 below that
   and for -inf, 2^127 above 127; NaN stays NaN, so that guards see it. Cephes' polynomial of degree
   6 on [-0.5, 0.5]. */
static inline Lanes lanes_exp2(Lanes x) {
#ifdef REAL_DOUBLE
    for (int lane = 0; lane < LANES; lane++) x[lane] = exp2(x[lane]);
    return x;
#else
    typedef uint32_t Exponents __attribute__((vector_size(64))); /* dead lanes may wrap around */
    const Lanes magic = lanes_all(12582912.0F); /* 1.5 * 2^23: adding it rounds to an integer */
    IntLanes dead = x < lanes_all(-126.0F); /* whatever comes of these is cleared in the end */
    x = lanes_least(lanes_all(127.0F), x);
    Lanes rounded = x + magic;
    Lanes f = x - (rounded - magic);
    Lanes p = lanes_all(1.535336188319500e-4F);
    p = p * f + 1.339887440266574e-3F;
    p = p * f + 9.618437357674640e-3F;
    p = p * f + 5.550332471162809e-2F;
    p = p * f + 2.402264791363012e-1F;
    p = p * f + 6.931472028550421e-1F;
    p = p * f + 1.0F;
    p = (Lanes)((Exponents)p + ((Exponents)rounded << 23));
    return (Lanes)((IntLanes)p & ~dead);
#endif
}

static inline real real_exp2(real x) {
#ifdef REAL_DOUBLE
    return exp2(x);
#else
    return lanes_exp2(lanes_all(x))[0];
#endif
}

/* 1 / x to a rounding of the last bit or two, for x from 1 up; a division takes sixteen cycles. */
static inline Lanes lanes_reciprocal(Lanes x) {
#if defined(__AVX512F__) && !defined(REAL_DOUBLE)
    const Lanes guess = (Lanes)_mm512_rcp14_ps((__m512)x);
    return guess + guess * (1 - x * guess);
#else
    return 1 / x;
#endif
}

/* 1 / (1 + e^-x), exactly 0 below -87 and for -inf, without a denormal on the way. */
static inline Lanes lanes_sigmoid(Lanes x) {
    const Lanes lowest = lanes_all(-126 / LOG2E);
    const Lanes y = lanes_reciprocal(1 + lanes_exp2(lanes_most(lowest, x) * -LOG2E));
    return (Lanes)((IntLanes)y & ~(x <= lowest));
}

/* log(1 + e^x), 0 for -inf. With e = exp(-|x|) <= 1 the logarithm of 1 + e is 2 atanh(e / (2 + e)),
   whose series ends, at t <= 1/3, with an error below 2e-8. */
static inline Lanes lanes_softplus(Lanes x) {
#ifdef REAL_DOUBLE
    for (int lane = 0; lane < LANES; lane++)
        x[lane] = fmax(x[lane], 0) + log1p(exp(-fabs(x[lane])));
    return x;
#else
    const Lanes e = lanes_exp2(lanes_most(x, -x) * -LOG2E);
    const Lanes t = e / (2 + e), square = t * t;
    Lanes p = square * (1 / 13.0F) + 1 / 11.0F;
    p = p * square + 1 / 9.0F;
    p = p * square + 1 / 7.0F;
    p = p * square + 1 / 5.0F;
    p = p * square + 1 / 3.0F;
    p = p * square + 1;
    return lanes_most(x, lanes_all(0)) + 2 * t * p;
#endif
}

/* Natural logarithm of normal positive numbers: relative error below 2e-7 (float), except near 1,
   where it is that of x. With x = m 2^e, m from sqrt(1/2) to sqrt(2), that of m is 2 atanh(t), t =
   (m - 1) / (m + 1) <= 0.172, whose series ends with an error below 1e-9. */
static inline Lanes lanes_log(Lanes x) {
#ifdef REAL_DOUBLE
    for (int lane = 0; lane < LANES; lane++) x[lane] = log(x[lane]);
    return x;
#else
    const int32_t lowest = 0x3F3504F3; /* sqrt(1/2) */
    const IntLanes bits = (IntLanes)x - lowest;
    const Lanes m = (Lanes)((bits & 0x7FFFFF) + lowest);
    const Lanes t = (m - 1) / (m + 1), square = t * t;
    Lanes p = square * (1 / 9.0F) + 1 / 7.0F;
    p = p * square + 1 / 5.0F;
    p = p * square + 1 / 3.0F;
    p = p * square + 1;
    return __builtin_convertvector(bits >> 23, Lanes) * LN2 + 2 * t * p;
#endif
}

static inline Lanes lanes_reverse(Lanes a) {
#ifdef REAL_DOUBLE
    return __builtin_shufflevector(a, a, 7, 6, 5, 4, 3, 2, 1, 0);
#else
    return __builtin_shufflevector(a, a, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
#endif
}

/* Sums of the lanes up to each one (prefix), or from each one on (suffix). */
#ifdef REAL_DOUBLE
#define LANES_FROM(a, b, n)                                                                        \
    __builtin_shufflevector(a, b, n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7)
#else
#define LANES_FROM(a, b, n)                                                                        \
    __builtin_shufflevector(a, b, n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8,       \
                            n + 9, n + 10, n + 11, n + 12, n + 13, n + 14, n + 15)
#endif

static inline Lanes lanes_prefix(Lanes a) {
    const Lanes zero = {0};
    a += LANES_FROM(zero, a, LANES - 1);
    a += LANES_FROM(zero, a, LANES - 2);
    a += LANES_FROM(zero, a, LANES - 4);
#ifndef REAL_DOUBLE
    a += LANES_FROM(zero, a, LANES - 8);
#endif
    return a;
}
static inline Lanes lanes_suffix(Lanes a) {
    const Lanes zero = {0};
    a += LANES_FROM(a, zero, 1);
    a += LANES_FROM(a, zero, 2);
    a += LANES_FROM(a, zero, 4);
#ifndef REAL_DOUBLE
    a += LANES_FROM(a, zero, 8);
#endif
    return a;
}

#endif
