/* gelu: the Gaussian error linear unit (Hendrycks and Gimpel 2016), exact or by tanh.
 *
 * Attributes: integers[0] selects the form.
 *
 *   0   x * Phi(x), with Phi(x) = (1 + erf(x / sqrt(2))) / 2
 *   1   its approximation x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
 */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

static const double sqrt_half = 0.70710678118654752, sqrt_2_over_pi = 0.79788456080286536,
                    cubic = 0.044715;

/** x * Phi(x), where Phi is the standard normal distribution function; `tanh_form` selects the
 * approximation by tanh, which GPT-2 uses. */
CSE_API cse_tensor *cse_gelu(cse_tensor *x, bool tanh_form)
{
    const cse_attributes attributes = { .integer_count = 1, .integers = { tanh_form } };
    return cse_trace_1(&cse_op_gelu, &attributes, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] =
        cse_gelu_gradient(node->inputs[0], output_gradient, node->attributes.integers[0] != 0);
}

static double exact(double x)
{
    return 0.5 * x * (1 + erf(x * sqrt_half));
}

static double by_tanh(double x)
{
    return 0.5 * x * (1 + tanh(sqrt_2_over_pi * (x + cubic * x * x * x)));
}

static void reference(const cse_reference *call)
{
    cse_reference_unary(call, call->node->attributes.integers[0] ? by_tanh : exact);
}

const cse_op cse_op_gelu = {
    .name = "gelu",
    .summary = "the Gaussian error linear unit, exact or by tanh",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .reference = reference,
    .expression = "$a0 ? cse_gelu_tanh($0) : cse_gelu_exact($0)",
};
