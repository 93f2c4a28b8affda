/* exp: e to the power of each element. */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** e to the power of x. */
CSE_API cse_tensor *cse_exp(cse_tensor *x)
{
    return cse_trace_1(&cse_op_exp, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_mul(output_gradient, node);
}

const cse_op cse_op_exp = {
    CSE_UNARY,
    .name = "exp",
    .summary = "e to the power of each element",
    .precision = CSE_FAMILY_SENSITIVE,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .unary = exp,
    .expression = "cse_exp($0)",
};
