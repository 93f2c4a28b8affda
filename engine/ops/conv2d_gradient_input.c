/* conv2d_gradient_input: the gradient of a convolution with respect to its input.
 *
 * Inputs: weight [out, in / groups, kernel height, kernel width], the gradient of the output.
 * Attributes: engine/trace/windows.h. */
#include "engine/kernels/plan.h"
#include "engine/trace/windows.h"

extern const cse_op cse_op_conv2d_gradient_input;

/** The gradient with respect to the input, of `shape`, of the convolution that `like` (a conv2d or
 * one of its gradients) did, from its weight and the gradient of the output. */
CSE_API cse_tensor *cse_conv2d_gradient_input(cse_tensor *weight, cse_tensor *output_gradient,
                                              cse_shape shape, const cse_tensor *like)
{
    cse_attributes attributes = { .integer_count = 0 };
    if (!cse_trace_is_poison(like)) {
        attributes = like->attributes;
        attributes.integer_count = 9;
        attributes.integers[CSE_CONV_SIZES] = shape.dims[2];
        attributes.integers[CSE_CONV_SIZES + 1] = shape.dims[3];
    }
    return cse_trace_2(&cse_op_conv2d_gradient_input, &attributes, weight, output_gradient);
}

static cse_status sizes_of(const cse_attributes *attributes, const cse_shape shapes[],
                           cse_conv2d_sizes *sizes, cse_shape *shape)
{
    cse_shape weight = shapes[0], dy = shapes[1];
    int64_t groups = attributes->integers[CSE_CONV_GROUPS];
    if (weight.rank != 4 || dy.rank != 4 || groups < 1 || attributes->integer_count < 9)
        return cse_fail(CSE_SHAPE, "both inputs must have four axes");
    *shape = cse_shape_of(dy.dims[0], weight.dims[1] * groups, attributes->integers[CSE_CONV_SIZES],
                          attributes->integers[CSE_CONV_SIZES + 1]);
    CSE_TRY(cse_conv2d_sizes_of(attributes, *shape, weight, sizes));
    cse_shape made = cse_shape_of(sizes->batch, sizes->out, sizes->made[0], sizes->made[1]);
    char text[128];
    if (!cse_shape_equal(made, dy))
        return cse_fail(CSE_SHAPE, "the output's gradient must be %s",
                        cse_shape_text(made, text, sizeof text));
    return CSE_OK;
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    cse_conv2d_sizes sizes;
    if (in->dtypes[0] != in->dtypes[1] || !cse_dtype_is_float(in->dtypes[0]))
        return cse_fail(CSE_SHAPE, "both inputs must be floats of one type; cast them first");
    *dtype = in->dtypes[0];
    return sizes_of(in->attributes, in->shapes, &sizes, shape);
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
    const cse_tensor *node = call->node;
    const cse_shape shapes[2] = { node->inputs[0]->shape, node->inputs[1]->shape };
    cse_conv2d_sizes sizes;
    cse_shape shape;
    if (sizes_of(&node->attributes, shapes, &sizes, &shape) == CSE_OK)
        cse_reference_conv2d(call, &sizes, (cse_conv2d_roles){ .made = 1, .a = 2, .b = 0 });
}

/* At most 100 products below 1 summed in float32: 100^2 * 2^-24. */
#define WINDOW(...)                      \
    .input_count = 2, .tolerance = 6e-4, \
    .attributes = { .integer_count = 9, .integers = { __VA_ARGS__ } }

static const cse_op_sample samples[] = {
    { .name = "plain",
      .inputs = { { { 4, { 4, 3, 3, 3 } }, CSE_FLOAT32, -1, 1 },
                  { { 4, { 2, 4, 6, 5 } }, CSE_FLOAT32, -1, 1 } },
      WINDOW(1, 1, 0, 0, 1, 1, 1, 8, 7) },
    { .name = "stride 2, padded",
      .inputs = { { { 4, { 4, 3, 5, 5 } }, CSE_FLOAT32, -1, 1 },
                  { { 4, { 2, 4, 4, 4 } }, CSE_FLOAT32, -1, 1 } },
      WINDOW(2, 2, 2, 2, 1, 1, 1, 8, 7) },
    { .name = "dilated",
      .inputs = { { { 4, { 3, 2, 3, 3 } }, CSE_FLOAT32, -1, 1 },
                  { { 4, { 1, 3, 7, 2 } }, CSE_FLOAT32, -1, 1 } },
      WINDOW(1, 2, 1, 0, 2, 3, 1, 9, 9) },
    { .name = "two groups",
      .inputs = { { { 4, { 6, 2, 3, 3 } }, CSE_FLOAT32, -1, 1 },
                  { { 4, { 2, 6, 6, 6 } }, CSE_FLOAT32, -1, 1 } },
      WINDOW(1, 1, 1, 1, 1, 1, 2, 6, 6) },
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
