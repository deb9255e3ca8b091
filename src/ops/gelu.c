#include "src/ops/ops.h"

#include "src/simd.h"

/* 2 sqrt(2 / pi), and the cubic coefficient. */
#define SLOPE ((real)1.5957691216057308)
#define CUBIC ((real)0.044715)

static inline Lanes forward(Lanes x) { return x * lanes_sigmoid(SLOPE * (x + CUBIC * x * x * x)); }

static inline Lanes backward(Lanes dy, Lanes x, Lanes *y) {
    const Lanes s = lanes_sigmoid(SLOPE * (x + CUBIC * x * x * x));
    *y = x * s;
    return dy * (s + *y * (1 - s) * SLOPE * (1 + 3 * CUBIC * x * x));
}

void gelu_forward(real *y, const real *x, size_t count) {
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) lanes_store(y + i, forward(lanes_load(x + i)));
    if (i < count)
        lanes_store_part(y + i, forward(lanes_load_part(x + i, count - i, 0)), count - i);
}

void gelu_backward(real *dy_to_dx, real *y, const real *x, size_t count) {
    size_t i = 0;
    Lanes out;
    for (; i + LANES <= count; i += LANES) {
        lanes_store(dy_to_dx + i, backward(lanes_load(dy_to_dx + i), lanes_load(x + i), &out));
        lanes_store(y + i, out);
    }
    if (i < count) {
        const size_t rest = count - i;
        const Lanes dx = backward(lanes_load_part(dy_to_dx + i, rest, 0),
                                  lanes_load_part(x + i, rest, 0), &out);
        lanes_store_part(dy_to_dx + i, dx, rest);
        lanes_store_part(y + i, out, rest);
    }
}
