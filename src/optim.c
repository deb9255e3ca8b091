#include "src/optim.h"

#include <float.h>
#include <tgmath.h>

#ifdef REAL_DOUBLE
#define SMALLEST_NORMAL DBL_MIN
#else
#define SMALLEST_NORMAL FLT_MIN
#endif

enum {
    STEP_BLOCK = 1 << 13, /* parameters that a thread updates at a time: four arrays in L2 */
    NORM_PARTS = 256,     /* partial sums of the norm */
    NORM_LANES = 16       /* running sums within a part: fixes the order, lets it vectorise */
};

/* The numbers of one step, worked out in double. */
typedef struct {
    real scale, gain1, gain2, root_correction, epsilon, rate, decay;
} Factors;

static void update(size_t count, real *restrict w, const real *restrict g, real *restrict m,
                   real *restrict v, Factors f) {
    for (size_t i = 0; i < count; i++) {
        real gradient = f.scale * g[i];
        real mean = m[i] + f.gain1 * (gradient - m[i]);
        real square = v[i] + f.gain2 * (gradient * gradient - v[i]);
        m[i] = fabs(mean) < SMALLEST_NORMAL ? 0 : mean;
        v[i] = square < SMALLEST_NORMAL ? 0 : square;
        real direction = m[i] / (sqrt(v[i]) * f.root_correction + f.epsilon);
        w[i] -= f.rate * direction + f.decay * w[i];
    }
}

size_t optim_blocks(size_t count) { return (count + STEP_BLOCK - 1) / STEP_BLOCK; }

void optim_step(size_t group_count, const OptimGroup *groups, const OptimSettings *settings,
                int64_t step, double learning_rate, double scale, real *w, const real *g, real *m,
                real *v) {
    CHECK(step >= 1, "step %lld", (long long)step);
    double correction1 = 1 - pow(settings->beta1, (double)step);
    double correction2 = 1 - pow(settings->beta2, (double)step);
    Factors plain = {
        .scale = (real)scale,
        .gain1 = (real)(1 - settings->beta1),
        .gain2 = (real)(1 - settings->beta2),
        .root_correction = (real)(1 / sqrt(correction2)),
        .epsilon = (real)settings->epsilon,
        .rate = (real)(learning_rate / correction1),
        .decay = 0,
    };
    Factors decaying = plain;
    decaying.decay = (real)(learning_rate * settings->weight_decay);

    size_t end = 0;
    for (size_t k = 0; k < group_count; k++) {
        CHECK(groups[k].offset >= end, "group %zu overlaps the one before it", k);
        end = groups[k].offset + groups[k].count;
    }
    /* Blocks cut the whole array, not each group, so that many small groups cost no barrier. */
    size_t blocks = optim_blocks(end);
#pragma omp parallel for schedule(static)
    for (size_t block = 0; block < blocks; block++) {
        size_t block_first = block * STEP_BLOCK, block_end = block_first + STEP_BLOCK;
        for (size_t k = 0; k < group_count && groups[k].offset < block_end; k++) {
            size_t first = most(groups[k].offset, block_first);
            size_t past = least(groups[k].offset + groups[k].count, block_end);
            if (first < past)
                update(past - first, w + first, g + first, m + first, v + first,
                       groups[k].decay ? decaying : plain);
        }
    }
}

static double sum_of_squares(size_t count, const real *g) {
    double lanes[NORM_LANES] = {0};
    size_t i = 0;
    for (; i + NORM_LANES <= count; i += NORM_LANES)
        for (size_t lane = 0; lane < NORM_LANES; lane++) {
            double x = (double)g[i + lane];
            lanes[lane] += x * x;
        }
    for (size_t lane = 0; i < count; i++, lane++) {
        double x = (double)g[i];
        lanes[lane] += x * x;
    }
    double sum = 0;
    for (size_t lane = 0; lane < NORM_LANES; lane++) sum += lanes[lane];
    return sum;
}

double optim_norm(size_t count, const real *g) {
    double parts[NORM_PARTS];
    size_t size = round_up((count + NORM_PARTS - 1) / NORM_PARTS, NORM_LANES);
#pragma omp parallel for schedule(static)
    for (size_t part = 0; part < NORM_PARTS; part++) {
        size_t first = least(part * size, count), end = least(first + size, count);
        parts[part] = sum_of_squares(end - first, g + first);
    }
    double sum = 0;
    for (size_t part = 0; part < NORM_PARTS; part++) sum += parts[part];
    return sqrt(sum);
}

double optim_clip_scale(double norm, double limit) {
    return limit > 0 && norm > limit ? limit / norm : 1;
}

size_t optim_find_nonfinite(size_t count, const real *g) {
    size_t i = 0;
    while (i < count && isfinite(g[i])) i++;
    return i;
}
