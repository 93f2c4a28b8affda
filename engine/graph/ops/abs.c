/* abs: the absolute value of each element. */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** |x|. The gradient at 0 is 0. */
CSE_API cse_tensor *cse_abs(cse_tensor *x)
{
    return cse_trace_1(&cse_op_abs, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_mul(output_gradient, cse_sign(node->inputs[0]));
}

const cse_op cse_op_abs = {
    CSE_UNARY,
    .name = "abs",
    .summary = "the absolute value of each element",
    .precision = CSE_FAMILY_NEUTRAL,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .unary = fabs,
    .expression = "__builtin_fabsf($0)",
};
