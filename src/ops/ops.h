/* ops: serial kernels on a block of rows. Forward overwrites its outputs; backward accumulates
   (+=) into gradients unless it says "in place". Order of arguments: outputs, inputs, weights,
   sizes. Sums over a row run in one fixed order, so a row's bits do not depend on its neighbours.
   Rows are `stride` reals apart where a stride is given, otherwise width reals. */
#ifndef SRC_OPS_OPS_H
#define SRC_OPS_OPS_H

#include "src/base.h"
#include "src/rng.h"

/* Layer norm (Ba, Kiros, Hinton 2016), epsilon 1e-5.
   xhat[rows,width] = (x - mean) / deviation, inverse_deviation[rows]; y = xhat * gain + bias.
   bias may be NULL. */
void norm_forward(real *y, real *xhat, real *inverse_deviation, const real *x, const real *gain,
                  const real *bias, size_t rows, size_t width);
/* y again from xhat: cheaper than keeping both. */
void norm_again(real *y, const real *xhat, const real *gain, const real *bias, size_t rows,
                size_t width);
void norm_backward(real *dx, real *dgain, real *dbias, const real *dy, const real *xhat,
                   const real *inverse_deviation, const real *gain, size_t rows, size_t width);

/* GELU in its tanh form (Hendrycks & Gimpel 2016; GPT-2): y = x * sigmoid(2 c (x + 0.044715 x^3)),
   c = sqrt(2 / pi). Backward: dy in place to dx; y again from x on the way. */
void gelu_forward(real *y, const real *x, size_t count);
void gelu_backward(real *dy_to_dx, real *y, const real *x, size_t count);

/* y[rows,width] += bias[width]; backward dbias += sum over rows of dy. */
void bias_forward(real *y, const real *bias, size_t rows, size_t width, size_t stride);
void bias_backward(real *dbias, const real *dy, size_t rows, size_t width, size_t stride);

/* x[rows,width] = scale table[tokens[row]]. Backward: channels [from, to) of dtable only, so that
   threads can share the work without sharing an element. */
void embedding_forward(real *x, const int32_t *tokens, const real *table, real scale, size_t rows,
                       size_t width);
void embedding_backward(real *dtable, const real *dx, const int32_t *tokens, real scale,
                        size_t rows, size_t width, size_t from, size_t to);

/* Softmax cross-entropy of one block: logits[rows, stride] become probabilities in place, loss[row]
   = -ln p(target) in nats and answer[row] = the most likely token (the first of equals), for every
   row. Backward, in place: dlogits = (p - onehot(target)) * weight where scored, otherwise 0. */
void loss_forward(real *logits_to_p, real *loss, int32_t *answer, const int32_t *targets,
                  size_t rows, size_t vocabulary, size_t stride);
void loss_backward(real *p_to_dlogits, const int32_t *targets, const uint8_t *scored, real weight,
                   size_t rows, size_t vocabulary, size_t stride);

/* Inverted dropout (Srivastava et al. 2014): x *= mask / (1 - rate), in place; the mask of a row is
   drawn from its own stream (seed, step, place, row), so backward calls the same function on dx. */
void dropout(real *x, double rate, int64_t seed, uint64_t step, uint64_t place, uint64_t first_row,
             size_t rows, size_t width);

#endif
