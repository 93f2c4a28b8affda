/* reciprocal: one divided by each element. */
#include "engine/graph/ops/elementwise.h"

/** 1 / x. */
CSE_API cse_tensor *cse_reciprocal(cse_tensor *x)
{
    return cse_trace_1(&cse_op_reciprocal, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_neg(cse_mul(output_gradient, cse_square(node)));
}

static double value_of(double x)
{
    return 1 / x;
}

const cse_op cse_op_reciprocal = {
    CSE_UNARY,
    .name = "reciprocal",
    .summary = "one divided by each element",
    .precision = CSE_FAMILY_SENSITIVE,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .unary = value_of,
    .expression = "1.0f / $0",
};
