#include "src/ops/ops.h"

void embedding_forward(real *x, const int32_t *tokens, const real *table, real scale, size_t rows,
                       size_t width) {
    for (size_t row = 0; row < rows; row++) {
        const real *restrict from_row = table + (size_t)tokens[row] * width;
        real *restrict to_row = x + row * width;
        for (size_t c = 0; c < width; c++) to_row[c] = scale * from_row[c];
    }
}

void embedding_backward(real *dtable, const real *dx, const int32_t *tokens, real scale,
                        size_t rows, size_t width, size_t from, size_t to) {
    for (size_t row = 0; row < rows; row++) {
        /* forward: x[row] = scale * table[tokens[row]] */
        real *restrict to_row = dtable + (size_t)tokens[row] * width;
        const real *restrict from_row = dx + row * width;
        for (size_t c = from; c < to; c++) to_row[c] += scale * from_row[c];
    }
}
