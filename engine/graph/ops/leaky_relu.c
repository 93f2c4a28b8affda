/* leaky_relu: negative elements times a small slope, the others as they are.
 *
 * Attributes: numbers[0] the slope. */
#include "engine/graph/ops/elementwise.h"

/** x where it is above 0, else x * slope (PyTorch's default: 0.01). The gradient at 0 is that of
 * the slope. */
CSE_API cse_tensor *cse_leaky_relu(cse_tensor *x, double slope)
{
    const cse_attributes attributes = { .number_count = 1, .numbers = { slope } };
    return cse_trace_1(&cse_op_leaky_relu, &attributes, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *x = node->inputs[0];
    cse_tensor *sloped = cse_scale(output_gradient, node->attributes.numbers[0]);
    gradients[0] = cse_where(cse_greater(x, cse_constant_like(x, 0)), output_gradient, sloped);
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node;
    double slope = (float)node->attributes.numbers[0];
    for (int64_t i = 0; i < cse_shape_elements(node->shape); i++) {
        double x = cse_read_element(node->dtype, call->inputs[0], i);
        cse_write_element(node->dtype, call->output, i, x > 0 ? x : x * slope);
    }
}

const cse_op cse_op_leaky_relu = {
    .name = "leaky_relu",
    .summary = "negative elements times a small slope, the others as they are",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .reference = reference,
    .expression = "$0 > 0.0f ? $0 : $0 * $f0",
};
