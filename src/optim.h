/* optim: what happens to flat arrays of parameters after backward: the norm of the gradient,
   clipping, and AdamW (Loshchilov & Hutter 2019, "Decoupled weight decay regularization"), in the
   form of PyTorch: epsilon is added outside the root.

       g ← scale * g
       m ← beta1 m + (1 - beta1) g             v ← beta2 v + (1 - beta2) g²
       w ← w - rate * ( m / (1 - beta1^step) / (√(v / (1 - beta2^step)) + epsilon) + decay * w )

   Everything here is elementwise or summed over a partition that the count alone decides, so the
   bits are the same for any number of threads. */
#ifndef SRC_OPTIM_H
#define SRC_OPTIM_H

#include "src/base.h"

typedef struct {
    double beta1, beta2; /* decay of the first and second moment, in [0, 1) */
    double epsilon;
    double weight_decay; /* of the groups that decay; multiplied by the learning rate */
} OptimSettings;

/* A run of parameters that are treated alike. Groups are in order of offset and do not overlap;
   what lies outside every group (padding between parameters) is left as it is. */
typedef struct {
    size_t offset, count;
    bool decay;
} OptimGroup;

/* One step over all groups. w: parameters, g: gradients, m and v: moments (zero before step 1).
   step counts from 1; scale is optim_clip_scale's. Moments below the smallest normal number become
   0: they would decay into subnormal numbers, which are slow, and rounding would keep them there
   for ever. */
void optim_step(size_t group_count, const OptimGroup *groups, const OptimSettings *settings,
                int64_t step, double learning_rate, double scale, real *w, const real *g, real *m,
                real *v);

/* Blocks that threads share in a step over so many parameters. */
size_t optim_blocks(size_t count);

/* √Σg², summed in double. Not finite exactly when an element is not (a float build cannot
   overflow the sum). */
double optim_norm(size_t count, const real *g);

/* What to multiply the gradient with so that its norm is at most `limit`; exactly 1 when it is
   already, and when limit is 0 (no clipping). */
double optim_clip_scale(double norm, double limit);

/* The first index whose element is NaN or infinite, count when there is none. Serial: for the
   message after optim_norm was not finite. */
size_t optim_find_nonfinite(size_t count, const real *g);

#endif
