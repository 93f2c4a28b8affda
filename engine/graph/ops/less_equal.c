/* less_equal: whether an element of the first tensor is at most the second's. */
#include "engine/graph/ops/elementwise.h"

/** Whether a is at most b; a bool. Broadcasts. */
CSE_API cse_tensor *cse_less_equal(cse_tensor *a, cse_tensor *b)
{
    return cse_elementwise_2(&cse_op_less_equal, a, b);
}

static double value_of(double a, double b)
{
    return a <= b;
}

const cse_op cse_op_less_equal = {
    CSE_COMPARISON,
    .name = "less_equal",
    .summary = "whether an element of the first tensor is at most the second's",
    .binary = value_of,
    .expression = "$0 <= $1",
};
