/* ops: every kernel of src/ops/, src/simd.h and src/gemm.h against plain double loops, at odd
   widths, with tails and strides. Slopes come from central differences of the double reference, so
   that backward is checked in the float build too. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/gemm.h"
#include "src/ops/ops.h"
#include "src/simd.h"
#include "tests/tolerance.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const size_t widths[] = {1, 3, 15, 16, 17, 33, 48};

static real *random_reals(size_t count, uint64_t item) {
    real *x = ALLOCATE(count, real);
    Rng rng = rng_stream(11, RNG_TEST, 0, item);
    for (size_t i = 0; i < count; i++) x[i] = (real)rng_normal(&rng);
    return x;
}

/* Check writes down every assertion that it passes, so this one is made only where it fails. */
static void near_value(const char *what, size_t at, double found, double wanted, double bound) {
    if (!(fabs(found - wanted) <= bound))
        ck_abort_msg("%s[%zu] is %.9g, wanted %.9g within %.2g", what, at, found, wanted, bound);
}

/* ---- simd ---------------------------------------------------------------------------------- */

/* The reference is exp2l: 2^x of the value that the function was given. */
START_TEST(exp2_is_accurate) {
    double worst = 0;
    for (double x = -126; x <= 127; x += 0.00317) {
        const real at = (real)x;
        const long double exact = exp2l((long double)at);
        worst = fmax(worst, (double)fabsl(((long double)real_exp2(at) - exact) / exact));
    }
    ck_assert_msg(worst <= TOLERANCE_EXP2, "worst relative error %.3g", worst);
    for (int n = -126; n <= 127; n++) ck_assert(real_exp2((real)n) == (real)ldexp(1, n));
}
END_TEST

START_TEST(exp2_at_the_ends) {
    ck_assert(real_exp2(-(real)INFINITY) == 0);
    ck_assert(isnan(real_exp2((real)NAN)));
    ck_assert(isnan(real_exp2(-(real)NAN)));
#ifndef REAL_DOUBLE
    /* Below the normal numbers exactly 0, so that masked and far scores leave no trace. */
    for (float x = -126.0001F; x > -1e30F; x *= 1.37F) ck_assert(real_exp2(x) == 0);
    ck_assert(real_exp2(127.5F) == 0x1p127F);
    ck_assert(real_exp2((float)INFINITY) == 0x1p127F);
#endif
    /* Every lane for itself. */
    real in[LANES], out[LANES];
    for (int lane = 0; lane < LANES; lane++)
        in[lane] = lane % 3 == 0 ? (real)NAN : lane % 3 == 1 ? -(real)INFINITY : (real)lane;
    lanes_store(out, lanes_exp2(lanes_load(in)));
    for (int lane = 0; lane < LANES; lane++)
        if (lane % 3 == 0)
            ck_assert(isnan(out[lane]));
        else
            ck_assert(out[lane] == (lane % 3 == 1 ? 0 : (real)ldexp(1, lane)));
}
END_TEST

/* x log2 e is rounded once before 2^x, so the relative error grows with |x|. */
START_TEST(sigmoid_is_accurate) {
    for (double x = -80; x <= 80; x += 0.0131) {
        const real at = (real)x;
        const double exact = 1 / (1 + exp(-(double)at));
        near_value("sigmoid", 0, (double)lanes_sigmoid(lanes_all(at))[0], exact,
                   TOLERANCE_EXP2 * (2 + fabs(x)) * exact);
    }
    ck_assert(lanes_sigmoid(lanes_all(0))[0] == (real)0.5);
    ck_assert(lanes_sigmoid(lanes_all((real)INFINITY))[0] == 1);
    ck_assert(lanes_sigmoid(lanes_all(-(real)INFINITY))[0] == 0);
    ck_assert(lanes_sigmoid(lanes_all(-88))[0] == 0);
    ck_assert(isnan(lanes_sigmoid(lanes_all((real)NAN))[0]));
}
END_TEST

START_TEST(softplus_is_accurate) {
    for (double x = -80; x <= 80; x += 0.0131) {
        const real at = (real)x;
        const double exact = fmax((double)at, 0) + log1p(exp(-fabs((double)at)));
        near_value("softplus", 0, (double)lanes_softplus(lanes_all(at))[0], exact,
                   TOLERANCE_EXP2 * (2 + fabs(x)) * exact);
    }
    ck_assert(lanes_softplus(lanes_all(-(real)INFINITY))[0] == 0);
    ck_assert(lanes_softplus(lanes_all((real)INFINITY))[0] == (real)INFINITY);
    ck_assert(isnan(lanes_softplus(lanes_all((real)NAN))[0]));
}
END_TEST

START_TEST(log_is_accurate) {
    for (double x = 1e-30; x < 1e30; x *= 1.0007) {
        const double exact = log((double)(real)x);
        near_value("log", 0, (double)lanes_log(lanes_all((real)x))[0], exact,
                   TOLERANCE(1.2e-7, 1e-15) * fmax(fabs(exact), 1));
    }
    for (int n = 0; n < 1000; n++) { /* in front of 1 and behind it there is no jump */
        const real x = (real)(0.999 + 2e-6 * n);
        near_value("log near 1", 0, (double)lanes_log(lanes_all(x))[0], log((double)x),
                   TOLERANCE(1e-9, 1e-15));
    }
    ck_assert(lanes_log(lanes_all(1))[0] == 0);
}
END_TEST

START_TEST(lanes_between_bounds) {
    for (ptrdiff_t from = -3; from < LANES + 3; from++)
        for (ptrdiff_t to = -3; to < LANES + 3; to++) {
            const Lanes kept = lanes_between(lanes_all(7), from, to);
            for (int lane = 0; lane < LANES; lane++)
                ck_assert(kept[lane] == (lane >= from && lane < to ? 7 : 0));
        }
}
END_TEST

START_TEST(lanes_sum_from_either_side) {
    real x[LANES];
    for (int lane = 0; lane < LANES; lane++) x[lane] = (real)(1 << lane);
    const Lanes prefix = lanes_prefix(lanes_load(x)), suffix = lanes_suffix(lanes_load(x));
    for (int lane = 0; lane < LANES; lane++) {
        ck_assert(prefix[lane] == (real)((2 << lane) - 1));
        ck_assert(suffix[lane] == (real)((1 << LANES) - (1 << lane)));
    }
}
END_TEST

START_TEST(lanes_add_and_compare) {
    real x[LANES], part[LANES + 1];
    for (int lane = 0; lane < LANES; lane++) x[lane] = (real)(1 << lane);
    ck_assert(lanes_sum(lanes_load(x)) == (real)((1 << LANES) - 1));
    for (int top = 0; top < LANES; top++) {
        for (int lane = 0; lane < LANES; lane++) x[lane] = (real)(lane == top ? 7 : -lane);
        ck_assert(lanes_greatest(lanes_load(x)) == 7);
    }
    for (size_t count = 0; count < LANES; count++) {
        for (int lane = 0; lane <= LANES; lane++) part[lane] = -1;
        lanes_store_part(part, lanes_load_part(x, count, 5), count);
        for (size_t lane = 0; lane < LANES; lane++) {
            ck_assert(lanes_load_part(x, count, 5)[lane] == (lane < count ? x[lane] : 5));
            ck_assert(part[lane] == (lane < count ? x[lane] : -1));
        }
    }
}
END_TEST

/* ---- gemm ---------------------------------------------------------------------------------- */

enum { ROOM = 160 };

typedef enum { PLAIN, TRANSPOSED, PACKED, PACKED_TRANSPOSE, PRODUCTS } Product;

static void multiply(Product product, size_t m, size_t n, size_t k, const real *a, size_t lda,
                     const real *b, size_t ldb, real beta, real *c, size_t ldc) {
    if (product == PLAIN) gemm(m, n, k, a, lda, b, ldb, beta, c, ldc);
    if (product == TRANSPOSED) gemm_transposed(m, n, k, a, lda, b, ldb, beta, c, ldc);
    if (product < PACKED) return;
    real *right = ALLOCATE(k * n, real), *packed = ALLOCATE(k * n, real);
    for (size_t p = 0; p < k; p++)
        for (size_t j = 0; j < n; j++)
            right[product == PACKED ? p * n + j : j * k + p] = b[p * ldb + j];
    (product == PACKED ? gemm_pack : gemm_pack_transposed)(packed, right, k, n);
    gemm_packed(m, n, k, a, lda, packed, beta, c, ldc);
    free(right);
    free(packed);
}

/* c = (aᵀ or a) · b + beta * c against three loops. What lies between the rows of c and below them
   must stay as it is; beta 0 must not read c. */
static void one_product(Product product, size_t m, size_t n, size_t k, real beta) {
    const bool transposed = product == TRANSPOSED;
    const size_t rows = transposed ? m : gemm_rows(m);
    const size_t lda = (transposed ? m : k) + 5, ldb = n + 2, ldc = n + 3;
    real *a = random_reals((transposed ? k : rows) * lda, 1), *b = random_reals(k * ldb, 2);
    real *before = random_reals((rows + 1) * ldc, 3), *c = ALLOCATE((rows + 1) * ldc, real);
    memcpy(c, before, (rows + 1) * ldc * sizeof(real));
    for (size_t i = 0; i < rows && beta == 0; i++)
        for (size_t j = 0; j < n; j++) c[i * ldc + j] = (real)NAN;
    multiply(product, m, n, k, a, lda, b, ldb, beta, c, ldc);
    for (size_t i = 0; i <= rows; i++)
        for (size_t j = 0; j < ldc; j++) {
            if (i == rows || j >= n) {
                ck_assert(c[i * ldc + j] == before[i * ldc + j]);
                continue;
            }
            double sum = (double)beta * (double)before[i * ldc + j];
            for (size_t p = 0; p < k; p++)
                sum += (double)a[transposed ? p * lda + i : i * lda + p] * (double)b[p * ldb + j];
            near_value("product", i * n + j, (double)c[i * ldc + j], sum,
                       TOLERANCE_PRODUCT * sqrt((double)k + 1));
        }
    free(a);
    free(b);
    free(before);
    free(c);
}

START_TEST(products) {
    static const size_t sizes[] = {1, 3, 16, 17, 33, 100, 2 * PANEL + 2};
    gemm_start();
    for (size_t m = 0; m < COUNT(sizes); m++)
        for (size_t n = 0; n < COUNT(sizes); n++)
            for (size_t k = 0; k < COUNT(sizes); k++)
                for (int beta = 0; beta <= 1; beta++)
                    for (int product = PLAIN; product < PRODUCTS; product++)
                        one_product((Product)product, sizes[m], sizes[n], sizes[k], (real)beta);
}
END_TEST

/* What the same bits for batches, padding and causality rest on: an element of a product does not
   depend on how many rows, how many columns, or how many zeros at the end of the sum there are. */
START_TEST(bits_of_a_product) {
    static const size_t widths_of_models[] = {4, 8, 12, 24, 32, 64, 67, 80, 96, 144};
    enum { LARGE = 256 };
    gemm_start();
    real *a = random_reals(LARGE * LARGE, 4), *b = random_reals(LARGE * LARGE, 5);
    real *whole = ALLOCATE(LARGE * LARGE, real), *part = ALLOCATE(LARGE * LARGE, real);
    for (size_t in = 0; in < COUNT(widths_of_models); in++)
        for (size_t out = 0; out < COUNT(widths_of_models); out++) {
            const size_t k = widths_of_models[in], n = widths_of_models[out];
            gemm(128, n, k, a, LARGE, b, LARGE, 0, whole, LARGE);
            for (size_t m = 16; m <= 112; m += 16) {
                gemm(m, n, k, a + (128 - m) * LARGE, LARGE, b, LARGE, 0, part, LARGE);
                for (size_t row = 0; row < m; row++)
                    ck_assert_msg(!memcmp(part + row * LARGE, whole + (128 - m + row) * LARGE,
                                          n * sizeof(real)),
                                  "rows: %zu x %zu x %zu, row %zu", m, n, k, row);
            }
        }
    for (size_t in = 0; in < COUNT(widths_of_models); in++) {
        const size_t w = widths_of_models[in];
        for (size_t m = 32; m <= 64; m += 32) {
            /* scores: columns of keys */
            gemm(m, LARGE, w, a, LARGE, b, LARGE, 0, whole, LARGE);
            for (size_t n = 16; n < LARGE; n += 16) {
                gemm(m, n, w, a, LARGE, b, LARGE, 0, part, LARGE);
                for (size_t row = 0; row < m; row++)
                    ck_assert_msg(
                        !memcmp(part + row * LARGE, whole + row * LARGE, n * sizeof(real)),
                        "columns: %zu x %zu x %zu, row %zu", m, n, w, row);
            }
            /* outputs: probabilities that are zero behind the last key that is seen */
            real *p = ALLOCATE(64 * LARGE, real);
            for (size_t keys = 16; keys < LARGE; keys += 48) {
                for (size_t i = 0; i < m * LARGE; i++) p[i] = i % LARGE < keys ? a[i] : 0;
                gemm(m, w, keys, p, LARGE, b, LARGE, 0, part, LARGE);
                for (size_t k = keys + 16; k <= LARGE; k += 16) {
                    gemm(m, w, k, p, LARGE, b, LARGE, 0, whole, LARGE);
                    for (size_t row = 0; row < m; row++)
                        ck_assert_msg(
                            !memcmp(part + row * LARGE, whole + row * LARGE, w * sizeof(real)),
                            "zeros: %zu x %zu, sums of %zu and %zu", m, w, keys, k);
                }
            }
            free(p);
        }
    }
    free(a);
    free(b);
    free(whole);
    free(part);
}
END_TEST

START_TEST(transposing) {
    for (size_t i = 0; i < COUNT(widths); i++)
        for (size_t j = 0; j < COUNT(widths); j++) {
            const size_t rows = widths[i], columns = widths[j];
            real *from = random_reals(rows * (columns + 1), 6);
            real *to = random_reals(columns * (rows + 2), 7), gap = to[rows];
            gemm_transpose(to, rows + 2, from, columns + 1, rows, columns);
            for (size_t r = 0; r < rows; r++)
                for (size_t c = 0; c < columns; c++)
                    ck_assert(to[c * (rows + 2) + r] == from[r * (columns + 1) + c]);
            ck_assert(to[rows] == gap);
            free(from);
            free(to);
        }
}
END_TEST

/* ---- norm ---------------------------------------------------------------------------------- */

/* One row in double; returns the sum of dy * y. */
static double norm_reference(size_t width, const double *x, const double *gain, const double *bias,
                             const double *dy, double *y) {
    double mean = 0, square = 0, sum = 0;
    for (size_t c = 0; c < width; c++) mean += x[c] / (double)width;
    for (size_t c = 0; c < width; c++) square += (x[c] - mean) * (x[c] - mean) / (double)width;
    for (size_t c = 0; c < width; c++) {
        y[c] = (x[c] - mean) / sqrt(square + 1e-5) * gain[c] + (bias ? bias[c] : 0);
        sum += dy[c] * y[c];
    }
    return sum;
}

typedef struct {
    size_t width;
    double x[ROOM], gain[ROOM], bias[ROOM], dy[ROOM], y[ROOM];
} NormRow;

static double norm_slope(NormRow *row, bool with_bias, double *value) {
    const double before = *value, step = 1e-5;
    const double *bias = with_bias ? row->bias : NULL;
    *value = before + step;
    const double up = norm_reference(row->width, row->x, row->gain, bias, row->dy, row->y);
    *value = before - step;
    const double down = norm_reference(row->width, row->x, row->gain, bias, row->dy, row->y);
    *value = before;
    return (up - down) / (2 * step);
}

static void one_norm(size_t width, bool with_bias) {
    enum { ROWS = 5 };
    const size_t count = ROWS * width;
    real *x = random_reals(count, 20), *gain = random_reals(width, 21);
    real *bias = random_reals(width, 22), *dy = random_reals(count, 23);
    real *dx = random_reals(count, 24), *dgain = random_reals(width, 25);
    real *dbias = random_reals(width, 26), *dx0 = random_reals(count, 24);
    real *dgain0 = random_reals(width, 25), *dbias0 = random_reals(width, 26);
    real *y = ALLOCATE(count, real), *xhat = ALLOCATE(count, real), inverse[ROWS];
    real *again = ALLOCATE(count, real);
    for (size_t c = 0; c < width; c++) x[width + c] += 100; /* a large mean must not hurt */
    norm_forward(y, xhat, inverse, x, gain, with_bias ? bias : NULL, ROWS, width);
    norm_again(again, xhat, gain, with_bias ? bias : NULL, ROWS, width);
    ck_assert_mem_eq(again, y, count * sizeof(real));
    norm_backward(dx, dgain, with_bias ? dbias : NULL, dy, xhat, inverse, gain, ROWS, width);

    NormRow *row = ALLOCATE(1, NormRow);
    double dgains[ROOM] = {0}, dbiases[ROOM] = {0};
    row->width = width;
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t c = 0; c < width; c++) {
            row->x[c] = (double)x[r * width + c];
            row->dy[c] = (double)dy[r * width + c];
            row->gain[c] = (double)gain[c];
            row->bias[c] = (double)bias[c];
        }
        norm_reference(width, row->x, row->gain, with_bias ? row->bias : NULL, row->dy, row->y);
        /* Roundings of x itself, which a row around 100 has a hundred times larger. */
        const double scale = r == 1 ? 100 : 1;
        for (size_t c = 0; c < width; c++)
            near_value("norm", c, (double)y[r * width + c], row->y[c], TOLERANCE_OP * scale);
        for (size_t c = 0; c < width; c++) {
            near_value("norm dx", c, (double)(dx[r * width + c] - dx0[r * width + c]),
                       norm_slope(row, with_bias, &row->x[c]), TOLERANCE_SLOPE * scale);
            dgains[c] += norm_slope(row, with_bias, &row->gain[c]);
            dbiases[c] += row->dy[c];
        }
    }
    for (size_t c = 0; c < width; c++) {
        near_value("norm dgain", c, (double)(dgain[c] - dgain0[c]), dgains[c],
                   TOLERANCE_SLOPE * 100);
        near_value("norm dbias", c, (double)(dbias[c] - dbias0[c]), with_bias ? dbiases[c] : 0,
                   TOLERANCE_OP);
    }
    free(row);
    real *all[] = {x, gain, bias, dy, dx, dgain, dbias, dx0, dgain0, dbias0, y, xhat, again};
    for (size_t i = 0; i < COUNT(all); i++) free(all[i]);
}

START_TEST(norm) {
    for (size_t i = 0; i < COUNT(widths); i++)
        for (int with_bias = 0; with_bias <= 1; with_bias++) one_norm(widths[i], with_bias);
}
END_TEST

/* A row without variance has no direction: xhat is 0 and y the bias, never NaN. */
START_TEST(norm_of_a_constant_row) {
    real x[17], gain[17], bias[17], y[17], xhat[17], inverse;
    for (int c = 0; c < 17; c++) x[c] = (real)0.1, gain[c] = 2, bias[c] = (real)c;
    norm_forward(y, xhat, &inverse, x, gain, bias, 1, 17);
    /* The mean of 17 times 0.1 is rounded; 1 / sqrt(epsilon) = 316 makes that visible. */
    for (int c = 0; c < 17; c++) ck_assert(fabs((double)y[c] - c) < TOLERANCE_OP * 100);
    ck_assert(fabs((double)inverse - 316.227766) < 1e-3);
}
END_TEST

/* ---- gelu ---------------------------------------------------------------------------------- */

/* Hendrycks & Gimpel's form, with tanh as they write it. */
static double gelu_reference(double x) {
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

START_TEST(gelu) {
    for (size_t i = 0; i < COUNT(widths); i++) {
        const size_t count = widths[i];
        real x[ROOM], y[ROOM], again[ROOM], dy[ROOM];
        for (int sweep = 0; sweep < 200; sweep++) {
            for (size_t c = 0; c < count; c++) {
                x[c] = (real)(-6 + 12 * ((double)sweep + (double)c / (double)count) / 200);
                dy[c] = (real)1.5;
            }
            y[count] = again[count] = dy[count] = 9;
            gelu_forward(y, x, count);
            gelu_backward(dy, again, x, count);
            ck_assert_mem_eq(again, y, (count + 1) * sizeof(real));
            ck_assert(dy[count] == 9);
            for (size_t c = 0; c < count; c++) {
                const double at = (double)x[c], step = 1e-5;
                near_value("gelu", c, (double)y[c], gelu_reference(at), TOLERANCE_OP);
                near_value("gelu dx", c, (double)dy[c],
                           1.5 * (gelu_reference(at + step) - gelu_reference(at - step)) /
                               (2 * step),
                           TOLERANCE_SLOPE);
            }
        }
    }
}
END_TEST

/* B47: where optimised compilers made NaN of inf * 0. */
START_TEST(gelu_far_out) {
    static const double far[] = {20, 100, 1e4, 1e9};
    for (size_t i = 0; i < COUNT(far); i++) {
        real x[2] = {(real)far[i], -(real)far[i]}, y[2], dy[2] = {1, 1}, again[2];
        gelu_forward(y, x, 2);
        gelu_backward(dy, again, x, 2);
        ck_assert(y[0] == x[0] && again[0] == x[0] && dy[0] == 1);
        ck_assert(fabs((double)y[1]) < 1e-28 && fabs((double)again[1]) < 1e-28);
        ck_assert(fabs((double)dy[1]) < 1e-9);
    }
    real x = (real)NAN, y, dy = 1;
    gelu_backward(&dy, &y, &x, 1);
    ck_assert(isnan(y) && isnan(dy));
}
END_TEST

/* ---- bias, embedding ----------------------------------------------------------------------- */

START_TEST(bias) {
    for (size_t i = 0; i < COUNT(widths); i++) {
        enum { ROWS = 4 };
        const size_t width = widths[i], stride = width + 3;
        real *y = random_reals(ROWS * stride, 30), *y0 = random_reals(ROWS * stride, 30);
        real *b = random_reals(width, 31), *db = random_reals(width, 32);
        real *db0 = random_reals(width, 32);
        bias_forward(y, b, ROWS, width, stride);
        for (size_t at = 0; at < ROWS * stride; at++)
            ck_assert(y[at] == y0[at] + (at % stride < width ? b[at % stride] : 0));
        bias_backward(db, y, ROWS, width, stride);
        for (size_t c = 0; c < width; c++) {
            double sum = (double)db0[c];
            for (size_t row = 0; row < ROWS; row++) sum += (double)y[row * stride + c];
            near_value("dbias", c, (double)db[c], sum, TOLERANCE_OP);
        }
        real *all[] = {y, y0, b, db, db0};
        for (size_t k = 0; k < COUNT(all); k++) free(all[k]);
    }
}
END_TEST

START_TEST(embedding) {
    static const int32_t tokens[] = {2, 0, 2, 1, 2};
    enum { ROWS = COUNT(tokens), VOCABULARY = 4 };
    for (size_t i = 0; i < COUNT(widths); i++) {
        const size_t width = widths[i], middle = width / 2;
        const real scale = 2; /* exact */
        real *table = random_reals(VOCABULARY * width, 40), *x = ALLOCATE(ROWS * width, real);
        embedding_forward(x, tokens, table, scale, ROWS, width);
        for (size_t at = 0; at < ROWS * width; at++)
            ck_assert(x[at] == 2 * table[(size_t)tokens[at / width] * width + at % width]);
        /* Whole numbers, so that sums are exact; channels in two parts. */
        real *dtable = ALLOCATE(VOCABULARY * width, real);
        for (size_t k = 0; k < ROWS * width; k++) x[k] = (real)(k + 1);
        for (size_t k = 0; k < VOCABULARY * width; k++) dtable[k] = 1;
        embedding_backward(dtable, x, tokens, scale, ROWS, width, middle, width);
        for (size_t c = 0; c < middle; c++) ck_assert(dtable[2 * width + c] == 1);
        embedding_backward(dtable, x, tokens, scale, ROWS, width, 0, middle);
        for (size_t c = 0; c < width; c++) {
            ck_assert(dtable[c] == 1 + 2 * x[width + c]);
            ck_assert(dtable[width + c] == 1 + 2 * x[3 * width + c]);
            ck_assert(dtable[2 * width + c] ==
                      1 + 2 * (x[c] + x[2 * width + c] + x[4 * width + c]));
            ck_assert(dtable[3 * width + c] == 1);
        }
        free(table);
        free(x);
        free(dtable);
    }
}
END_TEST

/* ---- loss ---------------------------------------------------------------------------------- */

static double loss_reference(const double *logits, size_t vocabulary, size_t target) {
    double top = logits[0], sum = 0;
    for (size_t c = 1; c < vocabulary; c++) top = fmax(top, logits[c]);
    for (size_t c = 0; c < vocabulary; c++) sum += exp(logits[c] - top);
    return log(sum) + top - logits[target];
}

START_TEST(loss) {
    for (size_t i = 0; i < COUNT(widths); i++) {
        enum { ROWS = 6 };
        const size_t vocabulary = widths[i], stride = vocabulary + 2;
        real *p = random_reals(ROWS * stride, 50), *logits = random_reals(ROWS * stride, 50);
        int32_t targets[ROWS], answer[ROWS];
        real losses[ROWS];
        for (size_t row = 0; row < ROWS; row++) targets[row] = (int32_t)(row * 7 % vocabulary);
        loss_forward(p, losses, answer, targets, ROWS, vocabulary, stride);
        static const uint8_t scored[ROWS] = {1, 0, 1, 1, 0, 1};
        real *dlogits = ALLOCATE(ROWS * stride, real);
        memcpy(dlogits, p, ROWS * stride * sizeof(real));
        loss_backward(dlogits, targets, scored, (real)0.25, ROWS, vocabulary, stride);
        for (size_t row = 0; row < ROWS; row++) {
            double x[ROOM] = {0};
            size_t best = 0;
            for (size_t c = 0; c < vocabulary; c++) {
                x[c] = (double)logits[row * stride + c];
                if (x[c] > x[best]) best = c;
            }
            const double exact = loss_reference(x, vocabulary, (size_t)targets[row]);
            near_value("loss", row, (double)losses[row], exact, TOLERANCE_OP);
            ck_assert_int_eq(answer[row], (int32_t)best);
            for (size_t c = 0; c < vocabulary; c++) {
                near_value("p", c, (double)p[row * stride + c],
                           exp(-loss_reference(x, vocabulary, c)), TOLERANCE_OP);
                const double before = x[c], step = 1e-5;
                x[c] = before + step;
                const double up = loss_reference(x, vocabulary, (size_t)targets[row]);
                x[c] = before - step;
                const double down = loss_reference(x, vocabulary, (size_t)targets[row]);
                x[c] = before;
                const real slope = dlogits[row * stride + c];
                if (scored[row])
                    near_value("dlogits", c, (double)slope, 0.25 * (up - down) / (2 * step),
                               TOLERANCE_SLOPE);
                else
                    ck_assert(slope == 0);
            }
            for (size_t c = vocabulary; c < stride; c++)
                ck_assert(p[row * stride + c] == logits[row * stride + c]);
        }
        free(p);
        free(logits);
        free(dlogits);
    }
}
END_TEST

/* B41: ln V where nothing is known. Of equal logits the first is the answer. */
START_TEST(loss_of_equal_logits) {
    static const size_t vocabularies[] = {10, 64, 8192};
    static const double logarithms[] = {2.302585093, 4.158883083, 9.010913347};
    for (size_t i = 0; i < COUNT(vocabularies); i++) {
        const size_t vocabulary = vocabularies[i];
        real *p = ALLOCATE(vocabulary, real), loss_found;
        for (size_t c = 0; c < vocabulary; c++) p[c] = (real)0.75;
        int32_t answer, target = (int32_t)vocabulary - 1;
        loss_forward(p, &loss_found, &answer, &target, 1, vocabulary, vocabulary);
        near_value("loss", 0, (double)loss_found, logarithms[i], TOLERANCE_OP * 2 + 1e-9);
        ck_assert_int_eq(answer, 0);
        free(p);
    }
    for (size_t first = 0; first < 40; first++) {
        real p[41], loss_found;
        int32_t answer, target = 0;
        for (size_t c = 0; c < 41; c++) p[c] = (real)(c >= first && c % 2 == first % 2 ? 3 : -1);
        loss_forward(p, &loss_found, &answer, &target, 1, 41, 41);
        ck_assert_int_eq(answer, (int32_t)first);
    }
}
END_TEST

START_TEST(loss_of_huge_logits) {
    real p[3] = {(real)1e4, -(real)1e4, 0}, losses[1];
    int32_t answer, target = 0;
    loss_forward(p, losses, &answer, &target, 1, 3, 3);
    ck_assert(losses[0] == 0 && answer == 0);
    ck_assert(p[0] == 1 && p[1] == 0 && p[2] == 0);
    real q[3] = {(real)1e4, -(real)1e4, 0};
    target = 1;
    loss_forward(q, losses, &answer, &target, 1, 3, 3);
    ck_assert(losses[0] == 20000 && answer == 0);
    loss_backward(q, &target, (uint8_t[]){1}, 1, 1, 3, 3);
    ck_assert(q[0] == 1 && q[1] == -1 && q[2] == 0);
    /* What is not a number must not become one. */
    real bad[3] = {0, (real)NAN, 0};
    loss_forward(bad, losses, &answer, &target, 1, 3, 3);
    ck_assert(isnan(losses[0]));
}
END_TEST

/* ---- dropout ------------------------------------------------------------------------------- */

static void ones(real *x, size_t count) {
    for (size_t i = 0; i < count; i++) x[i] = 1;
}

START_TEST(dropout_rate_and_scale) {
    enum { ROWS = 200, WIDTH = 100 };
    static const double rates[] = {0.1, 0.25, 0.9};
    real *x = ALLOCATE(ROWS * WIDTH, real);
    for (size_t i = 0; i < COUNT(rates); i++) {
        const double rate = rates[i];
        ones(x, ROWS * WIDTH);
        dropout(x, rate, 1, 2, 3, 0, ROWS, WIDTH);
        double zeros = 0;
        for (size_t k = 0; k < ROWS * WIDTH; k++) {
            ck_assert(x[k] == 0 || x[k] == (real)(1 / (1 - rate)));
            zeros += x[k] == 0;
        }
        const double n = ROWS * WIDTH; /* four deviations of a binomial */
        ck_assert_msg(fabs(zeros - n * rate) < 4 * sqrt(n * rate * (1 - rate)),
                      "%g of %g at rate %g", zeros, n, rate);
    }
    ones(x, WIDTH);
    dropout(x, 0, 1, 2, 3, 0, 1, WIDTH);
    for (size_t c = 0; c < WIDTH; c++) ck_assert(x[c] == 1);
    free(x);
}
END_TEST

START_TEST(dropout_is_keyed) {
    enum { ROWS = 9, WIDTH = 33, TOTAL = ROWS * WIDTH };
    real whole[TOTAL], other[TOTAL];
    ones(whole, TOTAL);
    dropout(whole, 0.5, 1, 2, 3, 40, ROWS, WIDTH);
    /* Backward sees the mask of forward. */
    ones(other, TOTAL);
    dropout(other, 0.5, 1, 2, 3, 40, ROWS, WIDTH);
    ck_assert_mem_eq(other, whole, sizeof whole);
    /* Rows in parts see the masks of the whole. */
    ones(other, TOTAL);
    dropout(other, 0.5, 1, 2, 3, 40, 4, WIDTH);
    dropout(other + 4 * WIDTH, 0.5, 1, 2, 3, 44, ROWS - 4, WIDTH);
    ck_assert_mem_eq(other, whole, sizeof whole);
    /* Another seed, step, place or row has another mask. */
    static const uint64_t keys[][4] = {{2, 2, 3, 40}, {1, 3, 3, 40}, {1, 2, 4, 40}, {1, 2, 3, 41}};
    for (size_t k = 0; k < COUNT(keys); k++) {
        ones(other, WIDTH);
        dropout(other, 0.5, (int64_t)keys[k][0], keys[k][1], keys[k][2], keys[k][3], 1, WIDTH);
        ck_assert(memcmp(other, whole, WIDTH * sizeof(real)));
    }
}
END_TEST

Suite *suite_ops(void);
Suite *suite_ops(void) {
    Suite *suite = suite_create("ops");
    TCase *tests = tcase_create("ops");
    tcase_add_test(tests, exp2_is_accurate);
    tcase_add_test(tests, exp2_at_the_ends);
    tcase_add_test(tests, sigmoid_is_accurate);
    tcase_add_test(tests, softplus_is_accurate);
    tcase_add_test(tests, log_is_accurate);
    tcase_add_test(tests, lanes_between_bounds);
    tcase_add_test(tests, lanes_add_and_compare);
    tcase_add_test(tests, lanes_sum_from_either_side);
    tcase_add_test(tests, products);
    tcase_add_test(tests, bits_of_a_product);
    tcase_add_test(tests, transposing);
    tcase_add_test(tests, norm);
    tcase_add_test(tests, norm_of_a_constant_row);
    tcase_add_test(tests, gelu);
    tcase_add_test(tests, gelu_far_out);
    tcase_add_test(tests, bias);
    tcase_add_test(tests, embedding);
    tcase_add_test(tests, loss);
    tcase_add_test(tests, loss_of_equal_logits);
    tcase_add_test(tests, loss_of_huge_logits);
    tcase_add_test(tests, dropout_rate_and_scale);
    tcase_add_test(tests, dropout_is_keyed);
    suite_add_tcase(suite, tests);
    return suite;
}
