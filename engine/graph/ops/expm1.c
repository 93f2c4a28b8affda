/* expm1: e^x - 1, exact for small x. */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** e^x - 1, with full precision near 0. */
CSE_API cse_tensor *cse_expm1(cse_tensor *x)
{
    return cse_trace_1(&cse_op_expm1, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_mul(output_gradient, cse_shift(node, 1));
}

const cse_op cse_op_expm1 = {
    CSE_UNARY,
    .name = "expm1",
    .summary = "the exponential of each element less one",
    .precision = CSE_FAMILY_SENSITIVE,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .unary = expm1,
    .expression = "cse_expm1($0)",
};
