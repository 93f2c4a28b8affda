/* abs: the absolute value of each element. */
#include <math.h>

#include "engine/trace/arguments.h"

extern const cse_op cse_op_abs;

/** |x|. The gradient at 0 is 0. */
CSE_API cse_tensor *cse_abs(cse_tensor *x)
{
    return cse_trace_1(&cse_op_abs, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_mul(output_gradient, cse_sign(node->inputs[0]));
}

static double value_of(double x)
{
    return fabs(x);
}

static void reference(const cse_reference *call)
{
    cse_reference_unary(call, value_of);
}

static const cse_op_sample samples[] = {
    { .name = "a row of 67",
      .inputs = { { { 2, { 3, 67 } }, CSE_FLOAT32, 0.1, 2 } },
      .input_count = 1 },
    { .name = "negative",
      .inputs = { { { 2, { 3, 5 } }, CSE_FLOAT32, -2, -0.1 } },
      .input_count = 1 },
    { .name = "both signs",
      .inputs = { { { 2, { 3, 67 } }, CSE_FLOAT32, -2, 2 } },
      .input_count = 1,
      .skip_gradient = true },
    { .name = NULL },
};

const cse_op cse_op_abs = {
    .name = "abs",
    .summary = "the absolute value of each element",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .reference = reference,
    .expression = "__builtin_fabsf($0)",
    .samples = samples,
};
