/* What the two gradients of conv2d share. Both are conv2d with the roles of its three tensors
 * exchanged, so tracing, shape rule and reference kernel only need to know which tensor is
 * computed.
 *
 * Attributes are those of engine/graph/trace/windows.h. */
#ifndef CSE_OPS_CONVOLUTION_H
#define CSE_OPS_CONVOLUTION_H

#include "engine/graph/op.h"
#include "engine/graph/trace/windows.h"

/* The tensors of a convolution, numbered as in cse_conv2d_roles. */
typedef enum cse_conv2d_tensor {
    CSE_CONV2D_OUTPUT,
    CSE_CONV2D_INPUT,
    CSE_CONV2D_WEIGHT,
} cse_conv2d_tensor;

/* Traces `op`, a gradient of `shape` of the convolution `like` (a conv2d or one of its gradients),
 * from the other operand (the weight or the input) and the gradient of the output. */
cse_tensor *cse_trace_conv2d_gradient(const cse_op *op, cse_tensor *const inputs[2],
                                      cse_shape shape, const cse_tensor *like);

/* The shape rule of the gradient with respect to `wanted`, the input or the weight. */
cse_status cse_infer_conv2d_gradient(const cse_infer *in, cse_conv2d_tensor wanted,
                                     cse_shape *shape, cse_dtype *dtype);

/* Its reference kernel. */
void cse_reference_conv2d_gradient(const cse_reference *call, cse_conv2d_tensor wanted);

/* [a, b, time] as [a, b, 1, time], for the two-dimensional ops, and back. `op` is named where x has
 * another rank. */
cse_tensor *cse_as_image(cse_tensor *x, const char *op);
cse_tensor *cse_from_image(cse_tensor *x);

/* Fails unless both inputs are floats of one type. */
cse_status cse_infer_conv2d_type(const cse_infer *in, cse_dtype *dtype);

#endif
