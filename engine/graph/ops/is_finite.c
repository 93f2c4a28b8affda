/* is_finite: whether each element is finite. */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** Whether x is neither infinite nor NaN; a bool. */
CSE_API cse_tensor *cse_is_finite(cse_tensor *x)
{
    return cse_trace_1(&cse_op_is_finite, NULL, x);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    CSE_TRY(cse_infer_floats(in, shape, dtype));
    *dtype = CSE_BOOL;
    return CSE_OK;
}

static double value_of(double x)
{
    return isfinite(x);
}

const cse_op cse_op_is_finite = {
    CSE_UNARY,
    .name = "is_finite",
    .summary = "whether each element is finite",
    .precision = CSE_FAMILY_NEUTRAL,
    .infer = infer,
    .unary = value_of,
    .expression = "__builtin_fabsf($0) <= 3.402823466e+38f",
};
