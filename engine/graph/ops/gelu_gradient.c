/* gelu_gradient: the gradient of gelu with respect to its input.
 *
 * Inputs: x and the gradient of the output. Attributes: integers[0] is the form, as of gelu.
 *
 * An op of its own, so that the derivative is one formula that shares its power and its quotient,
 * and is computed where the output's gradient is at hand instead of being stored from the forward
 * pass. */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

static const double sqrt_half = 0.70710678118654752, sqrt_2_over_pi = 0.79788456080286536,
                    one_over_sqrt_2pi = 0.39894228040143268, cubic = 0.044715;

/** The gradient with respect to x of cse_gelu(x, tanh_form), from the gradient of its output. */
CSE_API cse_tensor *cse_gelu_gradient(cse_tensor *x, cse_tensor *output_gradient, bool tanh_form)
{
    const cse_attributes attributes = { .integer_count = 1, .integers = { tanh_form } };
    return cse_trace_2(&cse_op_gelu_gradient, &attributes, x, output_gradient);
}

/* Phi(x) + x phi(x), with the standard normal distribution Phi and its density phi. */
static double exact_slope(double x)
{
    return 0.5 * (1 + erf(x * sqrt_half)) + x * one_over_sqrt_2pi * exp(-0.5 * x * x);
}

/* With u the argument of tanh and t its value: (1 + t) / 2 + x / 2 (1 - t^2) du/dx. */
static double tanh_slope(double x)
{
    double t = tanh(sqrt_2_over_pi * (x + cubic * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * sqrt_2_over_pi * (1 + 3 * cubic * x * x);
}

/* phi(x) (2 - x^2). */
static cse_tensor *exact_bend(cse_tensor *x)
{
    cse_tensor *squared = cse_square(x);
    cse_tensor *phi = cse_scale(cse_exp(cse_scale(squared, -0.5)), one_over_sqrt_2pi);
    return cse_mul(phi, cse_sub(cse_constant_like(x, 2), squared));
}

/* (1 - t^2) (u' + x / 2 u'' - x t u'^2), u' and u'' the derivatives of u. */
static cse_tensor *tanh_bend(cse_tensor *x)
{
    cse_tensor *squared = cse_square(x), *one = cse_constant_like(x, 1);
    cse_tensor *u = cse_scale(cse_mul(x, cse_shift(cse_scale(squared, cubic), 1)), sqrt_2_over_pi);
    cse_tensor *first = cse_scale(cse_shift(cse_scale(squared, 3 * cubic), 1), sqrt_2_over_pi);
    cse_tensor *second = cse_scale(squared, 3 * cubic * sqrt_2_over_pi); /* x / 2 u'' */
    cse_tensor *t = cse_tanh(u);
    cse_tensor *turn = cse_mul(cse_mul(x, t), cse_square(first));
    return cse_mul(cse_sub(one, cse_square(t)), cse_sub(cse_add(first, second), turn));
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *x = node->inputs[0];
    const bool tanh_form = node->attributes.integers[0] != 0;
    gradients[0] = cse_mul(cse_mul(output_gradient, node->inputs[1]),
                           tanh_form ? tanh_bend(x) : exact_bend(x));
    gradients[1] = cse_gelu_gradient(x, output_gradient, tanh_form);
}

static double exact(double x, double output_gradient)
{
    return output_gradient * exact_slope(x);
}

static double by_tanh(double x, double output_gradient)
{
    return output_gradient * tanh_slope(x);
}

static void reference(const cse_reference *call)
{
    cse_reference_binary(call, call->node->attributes.integers[0] ? by_tanh : exact);
}

const cse_op cse_op_gelu_gradient = {
    .name = "gelu_gradient",
    .summary = "the gradient of gelu with respect to its input",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .reference = reference,
    .expression = "$1 * ($a0 ? cse_gelu_tanh_slope($0) : cse_gelu_exact_slope($0))",
};
