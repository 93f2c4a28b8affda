/* logical_and: a and b, of two tensors of bools. */
#include "engine/graph/ops/elementwise.h"

/** a and b; of bools. Broadcasts. */
CSE_API cse_tensor *cse_logical_and(cse_tensor *a, cse_tensor *b)
{
    return cse_elementwise_2(&cse_op_logical_and, a, b);
}

static double value_of(double a, double b)
{
    return a != 0 && b != 0;
}

const cse_op cse_op_logical_and = {
    CSE_BINARY,
    .name = "logical_and",
    .summary = "a and b, of two tensors of bools",
    .precision = CSE_FAMILY_NEUTRAL,
    .infer = cse_infer_logical,
    .binary = value_of,
    .expression = "$0 && $1",
};
