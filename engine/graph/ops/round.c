/* round: each element rounded to a whole number. */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** x rounded to the nearest whole number, halves to the even one, as in PyTorch; floats. Its
 * gradient is 0. */
CSE_API cse_tensor *cse_round(cse_tensor *x)
{
    return cse_trace_1(&cse_op_round, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    (void)node;
    gradients[0] = cse_scale(output_gradient, 0);
}

const cse_op cse_op_round = {
    CSE_UNARY,
    .name = "round",
    .summary = "each element rounded to a whole number",
    .precision = CSE_FAMILY_NEUTRAL,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .unary = nearbyint,
    .expression = "cse_round($0)",
};
