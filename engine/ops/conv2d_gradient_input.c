/* conv2d_gradient_input: the gradient of a convolution with respect to its input.
 *
 * Inputs: weight [out, in / groups, kernel height, kernel width], the gradient of the output.
 * Attributes: engine/trace/windows.h. */
#include "engine/kernels/plan.h"
#include "engine/ops/convolution.h"

extern const cse_op cse_op_conv2d_gradient_input;

/** The gradient with respect to the input, of `shape`, of the convolution that `like` (a conv2d or
 * one of its gradients) did, from its weight and the gradient of the output. */
CSE_API cse_tensor *cse_conv2d_gradient_input(cse_tensor *weight, cse_tensor *output_gradient,
                                              cse_shape shape, const cse_tensor *like)
{
    cse_tensor *const inputs[] = { weight, output_gradient };
    return cse_trace_conv2d_gradient(&cse_op_conv2d_gradient_input, inputs, shape, like);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    return cse_infer_conv2d_gradient(in, CSE_CONV2D_INPUT, shape, dtype);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    /* Linear in both: as conv2d, with the roles of the input and its gradient exchanged. */
    cse_tensor *weight = node->inputs[0], *dy = node->inputs[1];
    gradients[0] = cse_conv2d_gradient_weight(output_gradient, dy, weight->shape, node);
    const cse_conv2d_options options = cse_conv2d_options_of(&node->attributes);
    gradients[1] = cse_conv2d(output_gradient, weight, NULL, &options);
}

static void reference(const cse_reference *call)
{
    cse_reference_conv2d_gradient(call, CSE_CONV2D_INPUT);
}

/* At most 100 products below 1 summed in float32: 100^2 * 2^-24. */
static const cse_op_sample samples[] = {
    CSE_CONV2D_SAMPLE("plain", 6e-4, (4, 3, 3, 3), (2, 4, 6, 5), 1, 1, 0, 0, 1, 1, 1, 8, 7),
    CSE_CONV2D_SAMPLE("stride 2, padded", 6e-4, (4, 3, 5, 5), (2, 4, 4, 4), 2, 2, 2, 2, 1, 1, 1, 8,
                      7),
    CSE_CONV2D_SAMPLE("dilated", 6e-4, (3, 2, 3, 3), (1, 3, 7, 2), 1, 2, 1, 0, 2, 3, 1, 9, 9),
    CSE_CONV2D_SAMPLE("two groups", 6e-4, (6, 2, 3, 3), (2, 6, 6, 6), 1, 1, 1, 1, 1, 1, 2, 6, 6),
    { .name = NULL },
};

static int64_t summed_terms(const cse_tensor *node)
{
    cse_shape weight = node->inputs[0]->shape;
    return weight.dims[0] / node->attributes.integers[CSE_CONV_GROUPS] * weight.dims[2] *
           weight.dims[3];
}

const cse_op cse_op_conv2d_gradient_input = {
    .name = "conv2d_gradient_input",
    .summary = "the gradient of a convolution with respect to its input",
    .kind = CSE_OP_LIBRARY,
    .precision = CSE_FAMILY_PRODUCT,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .kernel = { .make = cse_kernel_new_conv2d_gradient_input,
                .make_tiled = cse_kernel_new_tiled_conv2d_gradient_input,
                .types = CSE_KERNEL_BFLOAT16_TOO },
    .summed_terms = summed_terms,
    .samples = samples,
};
