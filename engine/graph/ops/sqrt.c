/* sqrt: the square root of each element. */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** The square root of x; NaN below 0. */
CSE_API cse_tensor *cse_sqrt(cse_tensor *x)
{
    return cse_trace_1(&cse_op_sqrt, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_div(cse_scale(output_gradient, 0.5), node);
}

const cse_op cse_op_sqrt = {
    CSE_UNARY,
    .name = "sqrt",
    .summary = "the square root of each element",
    .precision = CSE_FAMILY_SENSITIVE,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .unary = sqrt,
    .expression = "cse_sqrt($0)",
};
