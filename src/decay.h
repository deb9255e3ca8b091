/* decay: how attention scores fall with distance (RoFormer, section 3.4.3): the mean score that a
   trained model gives to a key, by how far back it lies, and for rotary encodings the bound that
   the paper derives from the frequencies alone. */
#ifndef SRC_DECAY_H
#define SRC_DECAY_H

#include "src/config.h"
#include "src/model/model.h"

typedef struct {
    size_t layers, heads, length; /* distances 0 … length - 1 */
    double *score; /* [layers, heads, length] mean over visible pairs, before the softmax; NaN where
                      none is visible */
    double *bound; /* [length], equation 37 without its factor: mean over j of |S_j|; NULL for
                      encodings that do not rotate */
} ScoreDecay;

/* Over a few examples of the evaluation stream, of DECAY_LENGTH tokens where the task makes such,
   or of the trained length; length 0 where neither serves, and for linear attention, which has no
   scores. */
enum { DECAY_LENGTH = 512, DECAY_EXAMPLES = 4 };
ScoreDecay decay_measure(const Config *config, const Model *model, Engine *engine);
void decay_free(ScoreDecay *decay);

/* (1 / pairs) * sum over j = 1 … pairs of |S_j|, S_j = sum over c < j of exp(i distance w_c). */
double decay_bound(size_t pairs, const double *frequency, double distance);

#endif
