#include "src/ops/ops.h"

#include "src/simd.h"

/* Is one of LANES reals not below `top`? */
static bool any_from(const real *p, real top) {
    bool any = false;
    for (size_t c = 0; c < LANES; c++) any |= p[c] >= top;
    return any;
}

void loss_forward(real *logits_to_p, real *loss, int32_t *answer, const int32_t *targets,
                  size_t rows, size_t vocabulary, size_t stride) {
    for (size_t row = 0; row < rows; row++) {
        real *p = logits_to_p + row * stride;
        const real lowest = -(real)INFINITY;
        const size_t whole = vocabulary / LANES * LANES, rest = vocabulary - whole;
        Lanes highest = lanes_all(lowest);
        for (size_t c = 0; c < whole; c += LANES) highest = lanes_most(lanes_load(p + c), highest);
        if (rest) highest = lanes_most(lanes_load_part(p + whole, rest, lowest), highest);
        const real top = lanes_greatest(highest);
        size_t best = 0;
        while (best + LANES < vocabulary && !any_from(p + best, top)) best += LANES;
        while (best + 1 < vocabulary && !(p[best] >= top)) best++;
        answer[row] = (int32_t)best;

        const real at_target = p[targets[row]];
        Lanes sum = {0};
        for (size_t c = 0; c < whole; c += LANES) {
            Lanes e = lanes_exp2((lanes_load(p + c) - top) * LOG2E);
            lanes_store(p + c, e);
            sum += e;
        }
        if (rest) {
            Lanes e = lanes_exp2((lanes_load_part(p + whole, rest, lowest) - top) * LOG2E);
            lanes_store_part(p + whole, e, rest);
            sum += e;
        }
        const real total = lanes_sum(sum), share = 1 / total;
        for (size_t c = 0; c < vocabulary; c++) p[c] *= share;
        loss[row] = (real)(log((double)total) + (double)top - (double)at_target);
    }
}

void loss_backward(real *p_to_dlogits, const int32_t *targets, const uint8_t *scored, real weight,
                   size_t rows, size_t vocabulary, size_t stride) {
    for (size_t row = 0; row < rows; row++) {
        /* forward: loss = -ln p[target], p = softmax(logits) */
        real *p = p_to_dlogits + row * stride;
        const real scale = scored[row] ? weight : 0;
        p[targets[row]] -= 1;
        for (size_t c = 0; c < vocabulary; c++) p[c] *= scale;
    }
}
