/* conv2d_gradient_weight: the gradient of a convolution with respect to its weight.
 *
 * Inputs: x [batch, in, height, width], the gradient of the output. Attributes:
 * engine/graph/trace/windows.h. */
#include "engine/code/kernels/plan.h"
#include "engine/graph/ops/convolution.h"

/** The gradient with respect to the weight, of `shape`, of the convolution that `like` (a conv2d or
 * one of its gradients) did, from its input and the gradient of the output. */
CSE_API cse_tensor *cse_conv2d_gradient_weight(cse_tensor *x, cse_tensor *output_gradient,
                                               cse_shape shape, const cse_tensor *like)
{
    cse_tensor *const inputs[] = { x, output_gradient };
    return cse_trace_conv2d_gradient(&cse_op_conv2d_gradient_weight, inputs, shape, like);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    return cse_infer_conv2d_gradient(in, CSE_CONV2D_WEIGHT, shape, dtype);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    /* Linear in both: as conv2d, with the roles of the weight and its gradient exchanged. */
    cse_tensor *x = node->inputs[0];
    gradients[0] = cse_conv2d_gradient_input(output_gradient, node->inputs[1], x->shape, node);
    const cse_conv2d_options options = cse_conv2d_options_of(&node->attributes);
    gradients[1] = cse_conv2d(x, output_gradient, NULL, &options);
}

static void reference(const cse_reference *call)
{
    cse_reference_conv2d_gradient(call, CSE_CONV2D_WEIGHT);
}

static int64_t summed_terms(const cse_tensor *node)
{
    cse_shape dy = node->inputs[1]->shape;
    return dy.dims[0] * dy.dims[2] * dy.dims[3];
}

const cse_op cse_op_conv2d_gradient_weight = {
    .name = "conv2d_gradient_weight",
    .summary = "the gradient of a convolution with respect to its weight",
    .kind = CSE_OP_LIBRARY,
    .precision = CSE_FAMILY_PRODUCT,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .kernel = { .make = cse_kernel_new_conv2d_gradient_weight,
                .make_tiled = cse_kernel_new_tiled_conv2d_gradient_weight,
                .types = CSE_KERNEL_BFLOAT16_TOO },
    .summed_terms = summed_terms,
};
