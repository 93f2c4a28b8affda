/* log: the natural logarithm of each element. */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** The natural logarithm of x: -infinity at 0, NaN below. */
CSE_API cse_tensor *cse_log(cse_tensor *x)
{
    return cse_trace_1(&cse_op_log, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_div(output_gradient, node->inputs[0]);
}

const cse_op cse_op_log = {
    CSE_UNARY,
    .name = "log",
    .summary = "the natural logarithm of each element",
    .precision = CSE_FAMILY_SENSITIVE,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .unary = log,
    .expression = "cse_log($0)",
};
