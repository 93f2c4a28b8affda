/* What the pooling ops share: tracing, the loops over windows of their reference kernels, and
 * samples.
 *
 * Inputs are [batch, channel, height, width]; attributes are those of
 * engine/graph/trace/windows.h. */
#ifndef CSE_OPS_POOL2D_H
#define CSE_OPS_POOL2D_H

#include "engine/graph/op.h"
#include "engine/graph/trace/windows.h"

/* Traces the pooling `op` of x. */
cse_tensor *cse_trace_pool2d(const cse_op *op, cse_tensor *x, const cse_pool2d_options *options);
/* Traces `op`, the gradient with respect to x of the pooling `like`. */
cse_tensor *cse_trace_pool2d_gradient(const cse_op *op, cse_tensor *x, cse_tensor *output_gradient,
                                      const cse_tensor *like);

/* The value of one window of inputs[0]. */
typedef double cse_pool2d_value(const cse_reference *call, const cse_pool2d_window *window);
void cse_reference_pool2d(const cse_reference *call, cse_pool2d_value *value_of);

/* Adds the gradient of one window's output to the sums of the elements of the input. */
typedef void cse_pool2d_share(const cse_reference *call, const cse_pool2d_window *window,
                              double output_gradient, double sums[]);
void cse_reference_pool2d_gradient(const cse_reference *call, cse_pool2d_share *share);

#endif
