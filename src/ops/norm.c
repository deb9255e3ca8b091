#include "src/ops/ops.h"

#include "src/simd.h"

static const real EPSILON = (real)1e-5;

/* Sum of f over a row: whole vectors, then the rest with zeros behind. */
#define ROW_SUM(total, width, whole, part)                                                         \
    do {                                                                                           \
        Lanes sum_ = {0};                                                                          \
        size_t c = 0;                                                                              \
        for (; c + LANES <= (width); c += LANES) sum_ += whole;                                    \
        if (c < (width)) sum_ += part;                                                             \
        (total) = lanes_sum(sum_);                                                                 \
    } while (0)

void norm_forward(real *y, real *xhat, real *inverse_deviation, const real *x, const real *gain,
                  const real *bias, size_t rows, size_t width) {
    const real share = 1 / (real)width;
    for (size_t row = 0; row < rows; row++, x += width, xhat += width, y += width) {
        real sum, square;
        ROW_SUM(sum, width, lanes_load(x + c), lanes_load_part(x + c, width - c, 0));
        const real mean = sum * share;
        Lanes whole, part;
        ROW_SUM(square, width, (whole = lanes_load(x + c) - mean, whole * whole),
                (part = lanes_load_part(x + c, width - c, mean) - mean, part * part));
        const real inverse = 1 / (real)sqrt((double)(square * share + EPSILON));
        inverse_deviation[row] = inverse;
        for (size_t c = 0; c < width; c++) xhat[c] = (x[c] - mean) * inverse;
        norm_again(y, xhat, gain, bias, 1, width);
    }
}

void norm_again(real *y, const real *xhat, const real *gain, const real *bias, size_t rows,
                size_t width) {
    for (size_t row = 0; row < rows; row++, xhat += width, y += width)
        if (bias)
            for (size_t c = 0; c < width; c++) y[c] = xhat[c] * gain[c] + bias[c];
        else
            for (size_t c = 0; c < width; c++) y[c] = xhat[c] * gain[c];
}

void norm_backward(real *dx, real *dgain, real *dbias, const real *dy, const real *xhat,
                   const real *inverse_deviation, const real *gain, size_t rows, size_t width) {
    const real share = 1 / (real)width;
    for (size_t row = 0; row < rows; row++, dx += width, dy += width, xhat += width) {
        /* forward: y = xhat * gain + bias, xhat = (x - mean) * inverse */
        Lanes sum = {0}, product = {0};
        size_t c = 0;
        for (; c + LANES <= width; c += LANES) {
            Lanes dxhat = lanes_load(dy + c) * lanes_load(gain + c);
            sum += dxhat;
            product += dxhat * lanes_load(xhat + c);
        }
        if (c < width) {
            Lanes dxhat = lanes_load_part(dy + c, width - c, 0) *
                          lanes_load_part(gain + c, width - c, 0);
            sum += dxhat;
            product += dxhat * lanes_load_part(xhat + c, width - c, 0);
        }
        const real mean = lanes_sum(sum) * share, slope = lanes_sum(product) * share;
        const real inverse = inverse_deviation[row];
        for (c = 0; c < width; c++) {
            dx[c] += inverse * (dy[c] * gain[c] - mean - xhat[c] * slope);
            dgain[c] += dy[c] * xhat[c];
        }
        if (dbias)
            for (c = 0; c < width; c++) dbias[c] += dy[c];
    }
}
