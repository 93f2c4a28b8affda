/* conv2d_gradient_input: the gradient of a convolution with respect to its input.
 *
 * Inputs: weight [out, in / groups, kernel height, kernel width], the gradient of the output.
 * Attributes: engine/graph/trace/windows.h. */
#include "engine/code/kernels/plan.h"
#include "engine/graph/ops/convolution.h"

/** The gradient with respect to the input, of `shape`, of the convolution that `like` (a conv2d or
 * one of its gradients) did, from its weight and the gradient of the output. */
CSE_API cse_tensor *cse_conv2d_gradient_input(cse_tensor *weight, cse_tensor *output_gradient,
                                              cse_shape shape, const cse_tensor *like)
{
    cse_tensor *const inputs[] = { weight, output_gradient };
    return cse_trace_conv2d_gradient(&cse_op_conv2d_gradient_input, inputs, shape, like);
}

static int64_t or_one(int64_t given)
{
    return given ? given : 1;
}

/** The transposed convolution of x [batch, in, height, width] with weight [in, out / groups, kernel
 * height, kernel width], plus bias [out] (NULL: none), as PyTorch's conv_transpose2d: [batch, out,
 * ...] with (size - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1 rows and
 * columns. `options` NULL: stride 1, no padding. */
CSE_API cse_tensor *cse_conv_transpose2d(cse_tensor *x, cse_tensor *weight, cse_tensor *bias,
                                         const cse_conv_transpose2d_options *options)
{
    const cse_conv_transpose2d_options defaults = { .groups = 1 };
    cse_attributes attributes = { .integer_count = CSE_CONV_SIZES + 2 };
    options = options ? options : &defaults;
    if (cse_trace_is_poison(x) || cse_trace_is_poison(weight))
        return cse_trace_2(&cse_op_conv2d_gradient_input, &attributes, weight, x);
    for (int i = 0; i < 2; i++) {
        int64_t stride = or_one(options->stride[i]), dilation = or_one(options->dilation[i]);
        int64_t extra = options->output_padding[i];
        if (extra < 0 || (extra >= stride && extra >= dilation))
            return cse_trace_fail(CSE_SHAPE,
                                  "conv_transpose: output_padding %lld; accepted: 0 or more, below "
                                  "the stride or the dilation",
                                  (long long)extra);
        attributes.integers[CSE_WINDOW_STRIDE + i] = stride;
        attributes.integers[CSE_WINDOW_PADDING + i] = options->padding[i];
        attributes.integers[CSE_WINDOW_DILATION + i] = dilation;
        attributes.integers[CSE_CONV_SIZES + i] =
            (x->shape.dims[2 + i] - 1) * stride - 2 * options->padding[i] +
            dilation * (weight->shape.dims[2 + i] - 1) + extra + 1;
    }
    attributes.integers[CSE_CONV_GROUPS] = or_one(options->groups);
    /* The gradient of a convolution from `out` to `in` channels with this weight. */
    cse_tensor *made = cse_trace_2(&cse_op_conv2d_gradient_input, &attributes, weight, x);
    return bias == NULL ? made : cse_add(made, cse_reshape(bias, cse_shape_of(-1, 1, 1)));
}

/** The same along one axis: x [batch, in, time], weight [in, out / groups, kernel]. */
CSE_API cse_tensor *cse_conv_transpose1d(cse_tensor *x, cse_tensor *weight, cse_tensor *bias,
                                         const cse_conv_transpose1d_options *options)
{
    const cse_conv_transpose1d_options defaults = { .groups = 1 };
    options = options ? options : &defaults;
    const cse_conv_transpose2d_options in_rows = { .stride = { 1, options->stride },
                                                   .padding = { 0, options->padding },
                                                   .output_padding = { 0, options->output_padding },
                                                   .dilation = { 1, options->dilation },
                                                   .groups = options->groups };
    return cse_from_image(cse_conv_transpose2d(cse_as_image(x, "conv_transpose1d"),
                                               cse_as_image(weight, "conv_transpose1d"), bias,
                                               &in_rows));
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
};
