/* log1p: the logarithm of 1 + x, exact for small x. */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** ln(1 + x), with full precision near 0; NaN below -1. */
CSE_API cse_tensor *cse_log1p(cse_tensor *x)
{
    return cse_trace_1(&cse_op_log1p, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_div(output_gradient, cse_shift(node->inputs[0], 1));
}

const cse_op cse_op_log1p = {
    CSE_UNARY,
    .name = "log1p",
    .summary = "the natural logarithm of one more than each element",
    .precision = CSE_FAMILY_SENSITIVE,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .unary = log1p,
    .expression = "cse_log1p($0)",
};
