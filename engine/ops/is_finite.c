/* is_finite: whether each element is finite. */
#include <math.h>

#include "engine/trace/arguments.h"

extern const cse_op cse_op_is_finite;

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

static void reference(const cse_reference *call)
{
    cse_reference_unary(call, value_of);
}

static const cse_op_sample samples[] = {
    { .name = "a row of 67",
      .inputs = { { { 2, { 3, 67 } }, CSE_FLOAT32, -2, 2 } },
      .input_count = 1,
      .skip_gradient = true },
    { .name = NULL },
};

const cse_op cse_op_is_finite = {
    .name = "is_finite",
    .summary = "whether each element is finite",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = infer,
    .reference = reference,
    .expression = "__builtin_fabsf($0) <= 3.402823466e+38f",
    .samples = samples,
};
