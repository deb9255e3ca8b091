#include "src/ops/ops.h"

void bias_forward(real *y, const real *bias, size_t rows, size_t width, size_t stride) {
    for (size_t row = 0; row < rows; row++, y += stride)
        for (size_t c = 0; c < width; c++) y[c] += bias[c];
}

void bias_backward(real *dbias, const real *dy, size_t rows, size_t width, size_t stride) {
    for (size_t row = 0; row < rows; row++, dy += stride)
        for (size_t c = 0; c < width; c++) dbias[c] += dy[c];
}
