/* relu: the larger of each element and 0. */
#include "engine/trace/arguments.h"

extern const cse_op cse_op_relu;

/** max(x, 0), NaN kept. The gradient at 0 is 0. */
CSE_API cse_tensor *cse_relu(cse_tensor *x)
{
    return cse_trace_1(&cse_op_relu, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    /* Read from the output, which is kept anyway as the next layer's input. */
    cse_tensor *zero = cse_constant_like(node, 0);
    gradients[0] = cse_where(cse_greater(node, zero), output_gradient, zero);
}

static double value_of(double x)
{
    return x < 0 ? 0 : x;
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

const cse_op cse_op_relu = {
    .name = "relu",
    .summary = "the larger of each element and 0",
    .kind = CSE_OP_ELEMENTWISE,
    .role = CSE_ROLE_RELU,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .reference = reference,
    .expression = "$0 < 0.0f ? 0.0f : $0",
    .samples = samples,
};
