/* rsqrt: one divided by the square root of each element. */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** 1 / sqrt(x). */
CSE_API cse_tensor *cse_rsqrt(cse_tensor *x)
{
    return cse_trace_1(&cse_op_rsqrt, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *cube = cse_mul(cse_square(node), node);
    gradients[0] = cse_mul(cse_scale(output_gradient, -0.5), cube);
}

static double value_of(double x)
{
    return 1 / sqrt(x);
}

const cse_op cse_op_rsqrt = {
    CSE_UNARY,
    .name = "rsqrt",
    .summary = "one divided by the square root of each element",
    .precision = CSE_FAMILY_SENSITIVE,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .unary = value_of,
    .expression = "cse_rsqrt($0)",
};
