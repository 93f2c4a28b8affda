/* silu: each element times its logistic function. */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** x * sigmoid(x) (Elfwing, Uchibe, Doya 2018). */
CSE_API cse_tensor *cse_silu(cse_tensor *x)
{
    return cse_trace_1(&cse_op_silu, NULL, x);
}

/** silu(gate) * x, the gated unit of Llama's feed-forward layers (Shazeer 2020). Broadcasts. */
CSE_API cse_tensor *cse_swiglu(cse_tensor *gate, cse_tensor *x)
{
    return cse_mul(cse_silu(gate), x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_silu_gradient(node->inputs[0], output_gradient);
}

static double value_of(double x)
{
    return x / (1 + exp(-x));
}

const cse_op cse_op_silu = {
    CSE_UNARY,
    .name = "silu",
    .summary = "each element times its logistic function",
    .precision = CSE_FAMILY_NEUTRAL,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .unary = value_of,
    .expression = "cse_silu($0)",
};
