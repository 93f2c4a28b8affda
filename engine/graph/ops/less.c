/* less: whether an element of the first tensor is less than the second's. */
#include "engine/graph/ops/elementwise.h"

/** Whether a is less than b; a bool. Broadcasts. */
CSE_API cse_tensor *cse_less(cse_tensor *a, cse_tensor *b)
{
    return cse_elementwise_2(&cse_op_less, a, b);
}

static double value_of(double a, double b)
{
    return a < b;
}

const cse_op cse_op_less = {
    CSE_COMPARISON,
    .name = "less",
    .summary = "whether an element of the first tensor is less than the second's",
    .binary = value_of,
    .expression = "$0 < $1",
};
