#include "src/ops/ops.h"

#include <string.h>

void embedding_forward(real *x, const int32_t *tokens, const real *table, size_t rows,
                       size_t width) {
    for (size_t row = 0; row < rows; row++)
        memcpy(x + row * width, table + (size_t)tokens[row] * width, width * sizeof(real));
}

void embedding_backward(real *dtable, const real *dx, const int32_t *tokens, size_t rows,
                        size_t width, size_t from, size_t to) {
    for (size_t row = 0; row < rows; row++) {
        /* forward: x[row] = table[tokens[row]] */
        real *restrict to_row = dtable + (size_t)tokens[row] * width;
        const real *restrict from_row = dx + row * width;
        for (size_t c = from; c < to; c++) to_row[c] += from_row[c];
    }
}
