/* relu: the larger of each element and 0. */
#include "engine/graph/ops/elementwise.h"

/** max(x, 0), NaN kept. The gradient at 0 is 0. */
CSE_API cse_tensor *cse_relu(cse_tensor *x)
{
    return cse_trace_1(&cse_op_relu, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    /* Uses the output, which is kept anyway as the next layer's input. */
    cse_tensor *zero = cse_constant_like(node, 0);
    gradients[0] = cse_where(cse_greater(node, zero), output_gradient, zero);
}

static double value_of(double x)
{
    return x < 0 ? 0 : x;
}

const cse_op cse_op_relu = {
    CSE_UNARY,
    .name = "relu",
    .summary = "the larger of each element and 0",
    .role = CSE_OP_ROLE_RELU,
    .precision = CSE_FAMILY_NEUTRAL,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .unary = value_of,
    .expression = "$0 < 0.0f ? 0.0f : $0",
};
