/* logical_not: the opposite of each bool. */
#include "engine/graph/ops/elementwise.h"

/** Not x; of a bool. */
CSE_API cse_tensor *cse_logical_not(cse_tensor *x)
{
    return cse_trace_1(&cse_op_logical_not, NULL, x);
}

static double value_of(double x)
{
    return x == 0;
}

const cse_op cse_op_logical_not = {
    CSE_UNARY,
    .name = "logical_not",
    .summary = "the opposite of each bool",
    .precision = CSE_FAMILY_NEUTRAL,
    .infer = cse_infer_logical,
    .unary = value_of,
    .expression = "!$0",
};
