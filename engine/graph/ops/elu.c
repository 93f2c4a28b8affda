/* elu: the exponential linear unit (Clevert, Unterthiner, Hochreiter 2016).
 *
 * Attributes: numbers[0] alpha, the distance below 0 that negative elements approach. */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** x where it is above 0, else alpha * (exp(x) - 1). PyTorch's alpha is 1. */
CSE_API cse_tensor *cse_elu(cse_tensor *x, double alpha)
{
    const cse_attributes attributes = { .number_count = 1, .numbers = { alpha } };
    return cse_trace_1(&cse_op_elu, &attributes, x);
}

/* Below 0 the slope is alpha exp(x), the output and alpha together. */
static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *slope = cse_shift(node, node->attributes.numbers[0]);
    cse_tensor *is_positive = cse_greater(node->inputs[0], cse_constant_like(node, 0));
    gradients[0] = cse_where(is_positive, output_gradient, cse_mul(output_gradient, slope));
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node;
    double alpha = (float)node->attributes.numbers[0];
    for (int64_t i = 0; i < cse_shape_elements(node->shape); i++) {
        double x = cse_read_element(node->dtype, call->inputs[0], i);
        cse_write_element(node->dtype, call->output, i, x > 0 ? x : alpha * expm1(x));
    }
}

const cse_op cse_op_elu = {
    .name = "elu",
    .summary = "the exponential linear unit",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .reference = reference,
    .expression = "$0 > 0.0f ? $0 : $f0 * cse_expm1($0)",
};
