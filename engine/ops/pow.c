/* pow: the first tensor to the power of the second. */
#include <math.h>

#include "engine/trace/arguments.h"

extern const cse_op cse_op_pow;

/** a to the power of b, as C's pow; floats. The gradient with respect to b is 0 where a is 0, that
 * with respect to a is 0 where b is 0. Broadcasts. */
CSE_API cse_tensor *cse_pow(cse_tensor *a, cse_tensor *b)
{
    return cse_trace_broadcast_2(&cse_op_pow, a, b);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *a = node->inputs[0], *b = node->inputs[1], *zero = cse_constant_like(a, 0);
    cse_tensor *slope = cse_mul(b, cse_pow(a, cse_shift(b, -1)));
    cse_tensor *growth = cse_mul(node, cse_log(a));
    gradients[0] = cse_mul(output_gradient, cse_where(cse_equal(b, zero), zero, slope));
    gradients[1] = cse_mul(output_gradient, cse_where(cse_equal(a, zero), zero, growth));
}

static double value_of(double a, double b)
{
    return pow(a, b);
}

static void reference(const cse_reference *call)
{
    cse_reference_binary(call, value_of, NULL);
}

/* The generated code's own function differs from libm's by a few units in the last place. */
static const cse_op_sample samples[] = {
    { .name = "a row of 67",
      .inputs = { { { 2, { 3, 67 } }, CSE_FLOAT32, 0.5, 2 },
                  { { 2, { 3, 67 } }, CSE_FLOAT32, -2, 2 } },
      .input_count = 2,
      .tolerance = 2e-6 },
    { .name = NULL },
};

const cse_op cse_op_pow = {
    .name = "pow",
    .summary = "the first tensor to the power of the second",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_SENSITIVE,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .reference = reference,
    .expression = "cse_pow($0, $1)",
    .samples = samples,
};
