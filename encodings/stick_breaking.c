/* Stick-breaking attention (Tan et al. 2024, arXiv 2410.17980), for causal models. No softmax: a
   query breaks a share off a stick for each key, from the nearest to the farthest,

       z_ij = q_i · k_j / sqrt(d)
       A_ij = sigmoid(z_ij) (1 - sigmoid(z_i,j+1)) … (1 - sigmoid(z_i,i-1)),  j < i

   so the nearest strong match wins, and order enters without any position. A token does not see
   itself, the first one sees nothing (its output is 0), and a row sums to at most 1: what is left
   of the stick is not given to anybody (the authors' layer leaves that to its caller).

   In logarithms A_ij = exp(z_ij - softplus(z_ij) - … - softplus(z_i,i-1)): one sum that runs from
   the query backwards, handed on from tile to tile. */
#include "encodings/tile.h"

static const Option options[] = {{0}};

enum { SUM, SHARE, PLANES }; /* planes of the tile's scratch */

static void normalise(const Site *site, QueryBlock *block, KeyTile *tile, real *s) {
    (void)site;
    const size_t columns = (size_t)tile->columns;
    for (size_t r = 0; r < (size_t)block->rows; r++, s += tile->stride) {
        const size_t seen = tile_visible(block, tile, r), itself = block->first + r - tile->first;
        real *sums = tile_plane(tile, SUM, r), *share = tile_plane(tile, SHARE, r);
        if (itself < columns) s[itself] = -(real)INFINITY;
        double total = 0;
        for (size_t c = 0; c < seen; c += LANES) {
            const Lanes z = lanes_load(s + c), sum = lanes_suffix(lanes_softplus(z));
            lanes_store(sums + c, sum);
            total += (double)sum[0];
            if (tile->again) lanes_store(share + c, lanes_sigmoid(z));
        }
        if (tile->again) block->carry[r] -= total;
        double carry = block->carry[r];
        for (size_t c = seen; c > 0;) {
            c -= LANES;
            const Lanes sum = lanes_load(sums + c);
            const Lanes log_p = lanes_load(s + c) - sum - (real)carry;
            lanes_store(s + c, lanes_exp2(log_p * LOG2E));
            carry += (double)sum[0];
        }
        if (!tile->again) block->carry[r] = carry;
        memset(s + seen, 0, (columns - seen) * sizeof(real));
    }
}

/* With D_j = p_j dp_j: ds_j = D_j - sigmoid(z_j) (D_0 + … + D_j), since z_j takes from every
   farther key. */
static void normalise_backward(const Site *site, QueryBlock *block, KeyTile *tile, const real *p,
                               real *dp) {
    (void)site;
    for (size_t r = 0; r < (size_t)block->rows; r++, p += tile->stride, dp += tile->stride) {
        const size_t seen = tile_visible(block, tile, r);
        const real *share = tile_plane(tile, SHARE, r);
        double carry = block->dcarry[r];
        for (size_t c = 0; c < seen; c += LANES) {
            const Lanes d = lanes_load(p + c) * lanes_load(dp + c), sum = lanes_prefix(d);
            lanes_store(dp + c, d - lanes_load(share + c) * (sum + (real)carry));
            carry += (double)sum[LANES - 1];
        }
        block->dcarry[r] = carry;
        memset(dp + seen, 0, ((size_t)tile->columns - seen) * sizeof(real));
    }
}

const Encoding encoding_stick_breaking = {
    .name = "stick_breaking",
    .summary = "no softmax: shares of a stick, broken off from the nearest key to the farthest",
    .source = "Tan et al. 2024 (arXiv 2410.17980)",
    .options = options,
    .needs_causal = "breaks its stick from the query back to the first token",
    .carries = 1,
    .score_scratch = PLANES,
    .normalise = normalise,
    .normalise_backward = normalise_backward,
};
