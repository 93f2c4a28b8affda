/* floor: the largest whole number that is not above each element. */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** The largest whole number not above x; floats. Its gradient is 0. */
CSE_API cse_tensor *cse_floor(cse_tensor *x)
{
    return cse_trace_1(&cse_op_floor, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    (void)node;
    gradients[0] = cse_scale(output_gradient, 0);
}

const cse_op cse_op_floor = {
    CSE_UNARY,
    .name = "floor",
    .summary = "the largest whole number that is not above each element",
    .precision = CSE_FAMILY_NEUTRAL,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .unary = floor,
    .expression = "cse_floor($0)",
};
