/* equal: whether an element of the first tensor equals the second's. */
#include "engine/graph/ops/elementwise.h"

/** Whether a equals b; a bool. Broadcasts. */
CSE_API cse_tensor *cse_equal(cse_tensor *a, cse_tensor *b)
{
    return cse_elementwise_2(&cse_op_equal, a, b);
}

static double value_of(double a, double b)
{
    return a == b;
}

const cse_op cse_op_equal = {
    CSE_COMPARISON,
    .name = "equal",
    .summary = "whether an element of the first tensor equals the second's",
    .binary = value_of,
    .expression = "$0 == $1",
};
