/* tanh: the hyperbolic tangent of each element. */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** The hyperbolic tangent of x. */
CSE_API cse_tensor *cse_tanh(cse_tensor *x)
{
    return cse_trace_1(&cse_op_tanh, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    /* 1 - y^2, computed from the output, so that x need not be kept. */
    cse_tensor *slope = cse_sub(cse_constant_like(node, 1), cse_square(node));
    gradients[0] = cse_mul(output_gradient, slope);
}

const cse_op cse_op_tanh = {
    CSE_UNARY,
    .name = "tanh",
    .summary = "the hyperbolic tangent of each element",
    .precision = CSE_FAMILY_NEUTRAL,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .unary = tanh,
    .expression = "cse_tanh($0)",
};
