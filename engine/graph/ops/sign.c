/* sign: the sign of each element: -1, 0 or 1. */
#include "engine/graph/ops/elementwise.h"

/** -1, 0 or 1 as x is negative, zero (or NaN) or positive; gradient 0. */
CSE_API cse_tensor *cse_sign(cse_tensor *x)
{
    return cse_trace_1(&cse_op_sign, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    /* Constant on both sides of every point but 0: the gradient is 0. */
    (void)node;
    (void)output_gradient;
    (void)gradients;
}

static double value_of(double x)
{
    return (x > 0) - (x < 0);
}

const cse_op cse_op_sign = {
    CSE_UNARY,
    .name = "sign",
    .summary = "the sign of each element: -1, 0 or 1",
    .precision = CSE_FAMILY_NEUTRAL,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .unary = value_of,
    .expression = "(float)(($0 > 0.0f) - ($0 < 0.0f))",
};
