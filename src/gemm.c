#include "src/gemm.h"

#include <stdio.h>
#include <string.h>

#if defined(REAL_DOUBLE) || defined(NO_BLAS)
#undef HAVE_ONEDNN
#undef HAVE_LIBXSMM
#endif

#ifdef HAVE_LIBXSMM
#include <libxsmm.h>
#endif
#ifdef HAVE_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif

#ifndef HAVE_ONEDNN
/* Plain loops: four rows at a time share each row of b. Every element is summed over k in order. */
static void plain(size_t m, size_t n, size_t k, const real *a, size_t row_step, size_t k_step,
                  const real *b, size_t ldb, real beta, real *c, size_t ldc) {
    for (size_t i = 0; i < m; i++) {
        real *ci = c + i * ldc;
        if (beta == 0)
            for (size_t j = 0; j < n; j++) ci[j] = 0;
    }
    size_t i = 0;
    for (; i + 4 <= m; i += 4) {
        real *restrict c0 = c + i * ldc, *restrict c1 = c0 + ldc;
        real *restrict c2 = c1 + ldc, *restrict c3 = c2 + ldc;
        for (size_t p = 0; p < k; p++) {
            const real *ap = a + i * row_step + p * k_step;
            real a0 = ap[0], a1 = ap[row_step], a2 = ap[2 * row_step], a3 = ap[3 * row_step];
            const real *restrict bp = b + p * ldb;
            for (size_t j = 0; j < n; j++) {
                c0[j] += a0 * bp[j];
                c1[j] += a1 * bp[j];
                c2[j] += a2 * bp[j];
                c3[j] += a3 * bp[j];
            }
        }
    }
    for (; i < m; i++) {
        real *restrict ci = c + i * ldc;
        for (size_t p = 0; p < k; p++) {
            real ap = a[i * row_step + p * k_step];
            const real *restrict bp = b + p * ldb;
            for (size_t j = 0; j < n; j++) ci[j] += ap * bp[j];
        }
    }
}
#else
static void onednn(char transpose_a, size_t m, size_t n, size_t k, const real *a, size_t lda,
                   const real *b, size_t ldb, real beta, real *c, size_t ldc) {
    dnnl_status_t status = dnnl_sgemm(transpose_a, 'N', (dnnl_dim_t)m, (dnnl_dim_t)n, (dnnl_dim_t)k,
                                      1.0F, a, (dnnl_dim_t)lda, b, (dnnl_dim_t)ldb, beta, c,
                                      (dnnl_dim_t)ldc);
    CHECK(status == dnnl_success, "dnnl_sgemm of %zu x %zu x %zu: status %d", m, n, k, (int)status);
}
#endif

#ifdef HAVE_LIBXSMM
/* LIBXSMM is column-major: row-major c = a·b is the product bᵀ... read as c' = b'·a'. A kernel is
   generated at the first use of a shape. The library would find it again, too, but its search took
   4 % of a step on short sequences. */
typedef struct {
    size_t m, n, k, lda, ldb, ldc;
    int flags, adds;
    libxsmm_smmfunction kernel; /* NULL: none for this shape */
} Kernel;

static bool same_shape(const Kernel *a, const Kernel *b) {
    return a->m == b->m && a->n == b->n && a->k == b->k && a->lda == b->lda && a->ldb == b->ldb &&
           a->ldc == b->ldc && a->flags == b->flags && a->adds == b->adds;
}

static bool libxsmm(int flags, size_t m, size_t n, size_t k, const real *a, size_t lda,
                    const real *b, size_t ldb, real beta, real *c, size_t ldc) {
    enum { KERNELS = 256 };
    static _Thread_local Kernel kernels[KERNELS];
    const Kernel shape = {m, n, k, lda, ldb, ldc, flags, beta > 0, NULL};
    const size_t mixed = m + 3 * n + 5 * k + 7 * lda + 11 * ldb + 13 * ldc + 17 * (beta > 0) +
                         19 * (size_t)flags;
    Kernel *found = &kernels[(mixed ^ mixed >> 8) % KERNELS];
    if (!same_shape(found, &shape)) {
        const libxsmm_blasint a_step = (libxsmm_blasint)lda, b_step = (libxsmm_blasint)ldb,
                              c_step = (libxsmm_blasint)ldc;
        const float one = 1;
        *found = shape;
        found->kernel = libxsmm_smmdispatch((libxsmm_blasint)n, (libxsmm_blasint)m,
                                            (libxsmm_blasint)k, &b_step, &a_step, &c_step, &one,
                                            &beta, &flags, NULL);
    }
    if (found->kernel) found->kernel(b, a, c);
    return found->kernel != NULL;
}
#endif

void gemm(size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b, size_t ldb,
          real beta, real *c, size_t ldc) {
    m = gemm_rows(m);
#ifdef HAVE_LIBXSMM
    /* Behind whole panels of 64 columns LIBXSMM 1.17 (AVX-512) sums a last one of at most 16 in an
       order that depends on m and n; alone it sums it like every other. */
    enum { LAST = 16 };
    const size_t panels = (n - 1) / PANEL * PANEL;
    if (panels && n - panels <= LAST) {
        gemm(m, panels, k, a, lda, b, ldb, beta, c, ldc);
        gemm(m, n - panels, k, a, lda, b + panels, ldb, beta, c + panels, ldc);
        return;
    }
    if (libxsmm(LIBXSMM_GEMM_FLAG_NONE, m, n, k, a, lda, b, ldb, beta, c, ldc)) return;
#endif
#ifdef HAVE_ONEDNN
    onednn('N', m, n, k, a, lda, b, ldb, beta, c, ldc);
#else
    plain(m, n, k, a, lda, 1, b, ldb, beta, c, ldc);
#endif
}

void gemm_transposed(size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b,
                     size_t ldb, real beta, real *c, size_t ldc) {
#ifdef HAVE_LIBXSMM
    if (libxsmm(LIBXSMM_GEMM_FLAG_TRANS_B, m, n, k, a, lda, b, ldb, beta, c, ldc)) return;
#endif
#ifdef HAVE_ONEDNN
    onednn('T', m, n, k, a, lda, b, ldb, beta, c, ldc);
#else
    plain(m, n, k, a, 1, lda, b, ldb, beta, c, ldc);
#endif
}

void gemm_pack(real *to, const real *from, size_t k, size_t n) {
    for (size_t first = 0; first < n; first += PANEL) {
        const size_t columns = least(PANEL, n - first);
        for (size_t p = 0; p < k; p++, to += columns)
            memcpy(to, from + p * n + first, columns * sizeof(real));
    }
}

void gemm_pack_transposed(real *to, const real *from, size_t k, size_t n) {
    for (size_t first = 0; first < n; first += PANEL) {
        const size_t columns = least(PANEL, n - first);
        gemm_transpose(to + first * k, columns, from + first * k, k, columns, k);
    }
}

void gemm_packed(size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b, real beta,
                 real *c, size_t ldc) {
    for (size_t first = 0; first < n; first += PANEL) {
        const size_t columns = least(PANEL, n - first);
        gemm(m, columns, k, a, lda, b + first * k, columns, beta, c + first, ldc);
    }
}

void gemm_transpose(real *to, size_t to_stride, const real *from, size_t from_stride, size_t rows,
                    size_t columns) {
    enum { BLOCK = 16 };
    size_t first = 0;
    for (; first + BLOCK <= rows; first += BLOCK)
        for (size_t column = 0; column < columns; column++) {
            real *restrict out = to + column * to_stride + first;
            const real *restrict in = from + first * from_stride + column;
            for (size_t row = 0; row < BLOCK; row++) out[row] = in[row * from_stride];
        }
    for (; first < rows; first++)
        for (size_t column = 0; column < columns; column++)
            to[column * to_stride + first] = from[first * from_stride + column];
}

void gemm_start(void) {
#ifdef __SSE2__
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040); /* flush to zero, take as zero */
#endif
#ifdef HAVE_LIBXSMM
    libxsmm_init();
#if !defined(__AVX2__)
    libxsmm_set_target_archid(LIBXSMM_X86_SSE4);
#elif !defined(__AVX512F__)
    libxsmm_set_target_archid(LIBXSMM_X86_AVX2);
#endif
#endif
#ifdef HAVE_ONEDNN
#if !defined(__AVX2__)
    dnnl_set_max_cpu_isa(dnnl_cpu_isa_sse41);
#elif !defined(__AVX512F__)
    dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2);
#endif
#endif
}

const char *gemm_description(void) {
    static char text[160];
    int used = 0;
#ifdef HAVE_LIBXSMM
    used = snprintf(text, sizeof text, "LIBXSMM %s (%s)", LIBXSMM_VERSION,
                    libxsmm_get_target_arch());
#endif
#ifdef HAVE_ONEDNN
    const dnnl_version_t *version = dnnl_version();
    used += snprintf(text + used, sizeof text - (size_t)used, "%soneDNN %d.%d.%d (isa %d)",
                     used ? " + " : "", version->major, version->minor, version->patch,
                     (int)dnnl_get_effective_cpu_isa());
#endif
    return used ? text : "plain loops";
}
