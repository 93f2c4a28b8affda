/* conv2d: two-dimensional convolution (cross-correlation, as in PyTorch).
 *
 * Inputs: x [batch, in, height, width], weight [out, in / groups, kernel height, kernel width].
 * Attributes: engine/graph/trace/windows.h. */
#include "engine/code/kernels/plan.h"
#include "engine/graph/ops/convolution.h"

/** x [batch, in, height, width] convolved with weight [out, in / groups, kernel height, kernel
 * width], plus bias [out] (NULL: none): [batch, out, ...] with
 * (size + 2 padding - dilation (kernel - 1) - 1) / stride + 1 rows and columns. `options` NULL:
 * stride 1, no padding. */
CSE_API cse_tensor *cse_conv2d(cse_tensor *x, cse_tensor *weight, cse_tensor *bias,
                               const cse_conv2d_options *options)
{
    const cse_conv2d_options defaults = { .groups = 1 };
    cse_attributes attributes = { .integer_count = 7 };
    options = options ? options : &defaults;
    for (int i = 0; i < 2; i++) {
        attributes.integers[CSE_WINDOW_STRIDE + i] = options->stride[i] ? options->stride[i] : 1;
        attributes.integers[CSE_WINDOW_PADDING + i] = options->padding[i];
        attributes.integers[CSE_WINDOW_DILATION + i] =
            options->dilation[i] ? options->dilation[i] : 1;
    }
    attributes.integers[CSE_CONV_GROUPS] = options->groups ? options->groups : 1;
    cse_tensor *product = cse_trace_2(&cse_op_conv2d, &attributes, x, weight);
    if (bias == NULL || cse_trace_is_poison(product) || cse_trace_is_poison(bias))
        return bias == NULL ? product : cse_add(product, bias);
    if (bias->shape.rank != 1 || bias->shape.dims[0] != product->shape.dims[1])
        return cse_trace_fail(CSE_SHAPE,
                              "conv2d: the bias must be [%lld], one for each output "
                              "channel",
                              (long long)product->shape.dims[1]);
    return cse_add(product, cse_reshape(bias, cse_shape_of(-1, 1, 1)));
}

/** x [batch, in, time] convolved with weight [out, in / groups, kernel], plus bias [out] (NULL:
 * none): [batch, out, ...], as cse_conv2d along one axis. `options` NULL: stride 1, no padding. */
CSE_API cse_tensor *cse_conv1d(cse_tensor *x, cse_tensor *weight, cse_tensor *bias,
                               const cse_conv1d_options *options)
{
    const cse_conv1d_options defaults = { .groups = 1 };
    options = options ? options : &defaults;
    const cse_conv2d_options in_rows = { .stride = { 1, options->stride },
                                         .padding = { 0, options->padding },
                                         .dilation = { 1, options->dilation },
                                         .groups = options->groups };
    cse_tensor *y =
        cse_conv2d(cse_as_image(x, "conv1d"), cse_as_image(weight, "conv1d"), bias, &in_rows);
    return cse_from_image(y);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    cse_conv2d_sizes sizes;
    CSE_TRY(cse_infer_conv2d_type(in, dtype));
    CSE_TRY(cse_conv2d_sizes_of(in->attributes, in->shapes[0], in->shapes[1], &sizes));
    *shape = cse_shape_of(sizes.batch, sizes.out, sizes.made[0], sizes.made[1]);
    return CSE_OK;
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *x = node->inputs[0], *weight = node->inputs[1];
    gradients[0] = cse_conv2d_gradient_input(weight, output_gradient, x->shape, node);
    gradients[1] = cse_conv2d_gradient_weight(x, output_gradient, weight->shape, node);
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node;
    cse_conv2d_sizes sizes;
    if (cse_conv2d_sizes_of(&node->attributes, node->inputs[0]->shape, node->inputs[1]->shape,
                            &sizes) == CSE_OK)
        cse_reference_conv2d(
            call, &sizes,
            (cse_conv2d_roles){ CSE_CONV2D_OUTPUT, CSE_CONV2D_INPUT, CSE_CONV2D_WEIGHT });
}

static int64_t summed_terms(const cse_tensor *node)
{
    cse_shape weight = node->inputs[1]->shape;
    return weight.dims[1] * weight.dims[2] * weight.dims[3];
}

const cse_op cse_op_conv2d = {
    .name = "conv2d",
    .summary = "two-dimensional convolution",
    .kind = CSE_OP_LIBRARY,
    .precision = CSE_FAMILY_PRODUCT,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .kernel = { .make = cse_kernel_new_conv2d,
                .make_tiled = cse_kernel_new_tiled_conv2d,
                .types = CSE_KERNEL_BFLOAT16_TOO,
                .bias_axis = 3 },
    .summed_terms = summed_terms,
};
