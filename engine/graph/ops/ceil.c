/* ceil: the smallest whole number that is not below each element. */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** The smallest whole number not below x; floats. Its gradient is 0. */
CSE_API cse_tensor *cse_ceil(cse_tensor *x)
{
    return cse_trace_1(&cse_op_ceil, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    (void)node;
    gradients[0] = cse_scale(output_gradient, 0);
}

const cse_op cse_op_ceil = {
    CSE_UNARY,
    .name = "ceil",
    .summary = "the smallest whole number that is not below each element",
    .precision = CSE_FAMILY_NEUTRAL,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .unary = ceil,
    .expression = "cse_ceil($0)",
};
