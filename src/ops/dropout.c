#include "src/ops/ops.h"

void dropout(real *x, double rate, int64_t seed, uint64_t step, uint64_t place, uint64_t first_row,
             size_t rows, size_t width) {
    const uint32_t limit = (uint32_t)(rate * 4294967296.0);
    const real scale = (real)(1 / (1 - rate));
    for (size_t row = 0; row < rows; row++, x += width) {
        /* 256 places a step: four a layer and one for the embedding (src/model). */
        Rng rng = rng_stream(seed, RNG_DROPOUT, step * 256 + place, first_row + row);
        for (size_t c = 0; c < width; c++) x[c] = rng_bits(&rng) < limit ? 0 : x[c] * scale;
    }
}
