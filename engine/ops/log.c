/* log: the natural logarithm of each element. */
#include <math.h>

#include "engine/trace/arguments.h"

extern const cse_op cse_op_log;

/** The natural logarithm of x: -infinity at 0, NaN below. */
CSE_API cse_tensor *cse_log(cse_tensor *x)
{
    return cse_trace_1(&cse_op_log, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_div(output_gradient, node->inputs[0]);
}

static double value_of(double x)
{
    return log(x);
}

static void reference(const cse_reference *call)
{
    cse_reference_unary(call, value_of);
}

/* The generated code's own function differs from libm's by a few units in the last place. */
static const cse_op_sample samples[] = {
    { .name = "a row of 67",
      .inputs = { { { 2, { 3, 67 } }, CSE_FLOAT32, 0.25, 4 } },
      .input_count = 1,
      .tolerance = 1e-6 },
    { .name = NULL },
};

const cse_op cse_op_log = {
    .name = "log",
    .summary = "the natural logarithm of each element",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_SENSITIVE,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .reference = reference,
    .expression = "cse_log($0)",
    .samples = samples,
};
