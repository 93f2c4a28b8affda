/* sin: the sine of each element (radians). */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** The sine of x radians. */
CSE_API cse_tensor *cse_sin(cse_tensor *x)
{
    return cse_trace_1(&cse_op_sin, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_mul(output_gradient, cse_cos(node->inputs[0]));
}

const cse_op cse_op_sin = {
    CSE_UNARY,
    .name = "sin",
    .summary = "the sine of each element (radians)",
    .precision = CSE_FAMILY_SENSITIVE,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .unary = sin,
    .expression = "cse_sin($0)",
};
