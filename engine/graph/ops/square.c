/* square: the square of each element. */
#include "engine/graph/ops/elementwise.h"

/** x * x. */
CSE_API cse_tensor *cse_square(cse_tensor *x)
{
    return cse_trace_1(&cse_op_square, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_mul(cse_scale(output_gradient, 2), node->inputs[0]);
}

static double value_of(double x)
{
    return x * x;
}

const cse_op cse_op_square = {
    CSE_UNARY,
    .name = "square",
    .summary = "the square of each element",
    .precision = CSE_FAMILY_SENSITIVE,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .unary = value_of,
    .expression = "$0 * $0",
};
