/* sqrt: the square root of each element. */
#include <math.h>

#include "engine/trace/arguments.h"

extern const cse_op cse_op_sqrt;

/** The square root of x; NaN below 0. */
CSE_API cse_tensor *cse_sqrt(cse_tensor *x)
{
    return cse_trace_1(&cse_op_sqrt, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_div(cse_scale(output_gradient, 0.5), node);
}

static double value_of(double x)
{
    return sqrt(x);
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

const cse_op cse_op_sqrt = {
    .name = "sqrt",
    .summary = "the square root of each element",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_SENSITIVE,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .reference = reference,
    .expression = "cse_sqrt($0)",
    .samples = samples,
};
