/* cos: the cosine of each element (radians). */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** The cosine of x radians. */
CSE_API cse_tensor *cse_cos(cse_tensor *x)
{
    return cse_trace_1(&cse_op_cos, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_neg(cse_mul(output_gradient, cse_sin(node->inputs[0])));
}

const cse_op cse_op_cos = {
    CSE_UNARY,
    .name = "cos",
    .summary = "the cosine of each element (radians)",
    .precision = CSE_FAMILY_SENSITIVE,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .unary = cos,
    .expression = "cse_cos($0)",
};
