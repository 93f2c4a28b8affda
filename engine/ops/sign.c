/* sign: the sign of each element: -1, 0 or 1. */
#include "engine/trace/arguments.h"

extern const cse_op cse_op_sign;

/** -1, 0 or 1 as x is negative, zero (or NaN) or positive; gradient 0. */
CSE_API cse_tensor *cse_sign(cse_tensor *x)
{
    return cse_trace_1(&cse_op_sign, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    /* The same on both sides of every point but 0: nothing flows back. */
    (void)node;
    (void)output_gradient;
    (void)gradients;
}

static double value_of(double x)
{
    return (x > 0) - (x < 0);
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

const cse_op cse_op_sign = {
    .name = "sign",
    .summary = "the sign of each element: -1, 0 or 1",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .reference = reference,
    .expression = "(float)(($0 > 0.0f) - ($0 < 0.0f))",
    .samples = samples,
};
