/* neg: the negative of each element. */
#include "engine/graph/ops/elementwise.h"

/** -x; floats or int32. */
CSE_API cse_tensor *cse_neg(cse_tensor *x)
{
    return cse_trace_1(&cse_op_neg, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    (void)node;
    gradients[0] = cse_neg(output_gradient);
}

static double value_of(double x)
{
    return -x;
}

/* -(-x) = x. */
static cse_tensor *simplify(cse_tensor *node)
{
    return node->inputs[0]->op == node->op ? node->inputs[0]->inputs[0] : NULL;
}

const cse_op cse_op_neg = {
    CSE_UNARY,
    .name = "neg",
    .summary = "the negative of each element",
    .precision = CSE_FAMILY_NEUTRAL,
    .infer = cse_infer_numbers,
    .gradient = gradient,
    .unary = value_of,
    .simplify = simplify,
    .expression = "-$0",
};
