/* clamp: each element moved into an interval.
 *
 * Attributes: numbers[0] and numbers[1] are the interval's ends, which may be infinite. */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** `low` where x is below it, `high` where x is above it, else x; NaN kept. Either may be infinite.
 * The gradient is 0 outside of the interval and passes within it and at its ends, as in PyTorch's
 * clamp. hardtanh is clamp to [-1, 1], relu6 to [0, 6]. */
CSE_API cse_tensor *cse_clamp(cse_tensor *x, double low, double high)
{
    const cse_attributes attributes = { .number_count = 2, .numbers = { low, high } };
    if (!(low <= high))
        return cse_trace_fail(CSE_SHAPE, "clamp: [%g, %g] is no interval", low, high);
    return cse_trace_1(&cse_op_clamp, &attributes, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *zero = cse_constant_like(output_gradient, 0);
    gradients[0] = cse_where(cse_equal(node->inputs[0], node), output_gradient, zero);
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node;
    double low = (float)node->attributes.numbers[0], high = (float)node->attributes.numbers[1];
    for (int64_t i = 0; i < cse_shape_elements(node->shape); i++) {
        double x = cse_read_element(node->dtype, call->inputs[0], i);
        cse_write_element(node->dtype, call->output, i, x < low ? low : x > high ? high : x);
    }
}

const cse_op cse_op_clamp = {
    .name = "clamp",
    .summary = "each element moved into an interval",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .reference = reference,
    .expression = "$0 < $f0 ? $f0 : $0 > $f1 ? $f1 : $0",
};
