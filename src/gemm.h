/* gemm: matrix products, row-major. The only module that knows a BLAS: LIBXSMM for the tiles that
   attention and row blocks are made of, oneDNN for the rest, plain loops where neither is there
   (-DNO_BLAS) and in the double build. Serial: call it from inside parallel regions. */
#ifndef SRC_GEMM_H
#define SRC_GEMM_H

#include "src/base.h"

/* The bits of a row may depend on how many rows its product has when these are fewer than 16, so
   products over rows of tokens are done in whole groups of 16: callers leave room for
   gemm_rows(m) rows in `a` (read) and `c` (overwritten or, with beta 1, added to). */
enum { GEMM_ROWS = 16 };
static inline size_t gemm_rows(size_t m) { return round_up(m, GEMM_ROWS); }

/* c[m,n] = a[m,k] · b[k,n] + beta * c, beta 0 or 1; lda, ldb, ldc are reals from row to row.
   m is rounded up to a multiple of GEMM_ROWS as said above. */
void gemm(size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b, size_t ldb,
          real beta, real *c, size_t ldc);

/* c[m,n] = aᵀ · b + beta * c with a[k,m], b[k,n]: gradients of weights, sums over k rows. */
void gemm_transposed(size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b,
                     size_t ldb, real beta, real *c, size_t ldc);

/* A right side that many products share, packed: panels of PANEL columns one behind the other, each
   [k, PANEL], the last as narrow as what is left; k * n reals as before. The rows of a panel lie
   side by side, so that they come into the cache one after the other and do not push each other
   out, as rows do whose distance is a multiple of 4 KiB. */
enum { PANEL = 64 };
void gemm_pack(real *to, const real *from, size_t k, size_t n);

/* The same of the transpose of from[n, k]. */
void gemm_pack_transposed(real *to, const real *from, size_t k, size_t n);

/* gemm with b packed. */
void gemm_packed(size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b, real beta,
                 real *c, size_t ldc);

/* to[columns, rows] = from[rows, columns] transposed. */
void gemm_transpose(real *to, size_t to_stride, const real *from, size_t from_stride, size_t rows,
                    size_t columns);

/* Call once before the first parallel region: starts the libraries, single-threaded, and caps
   their own choice of instructions at the level of this binary. Results too small for a normal
   number become 0 from then on, in this thread and those that it starts: x86 takes a hundred
   cycles for each, and where attention decays with distance most probabilities are that small. */
void gemm_start(void);

/* "LIBXSMM 1.17 + oneDNN 2.6.3 (avx512_core)" or "plain loops". */
const char *gemm_description(void);

#endif
