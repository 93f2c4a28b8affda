/* maximum: the larger of two tensors' elements. */
#include "engine/trace/arguments.h"

extern const cse_op cse_op_maximum;

/** The larger of a and b; NaN where either is NaN. Where a equals b each gets half of the gradient.
 * Broadcasts. */
CSE_API cse_tensor *cse_maximum(cse_tensor *a, cse_tensor *b)
{
    return cse_trace_broadcast_2(&cse_op_maximum, a, b);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    for (int i = 0; i < 2; i++) {
        cse_tensor *own = node->inputs[i], *other = node->inputs[1 - i];
        cse_tensor *half = cse_scale(cse_cast(cse_equal(own, other), own->dtype), 0.5);
        cse_tensor *share = cse_add(cse_cast(cse_greater(own, other), own->dtype), half);
        gradients[i] = cse_mul(output_gradient, share);
    }
}

static double value_of(double a, double b)
{
    return a > b || a != a ? a : b;
}

static void reference(const cse_reference *call)
{
    cse_reference_binary(call, value_of, NULL);
}

static const cse_op_sample samples[] = {
    { .name = "a row of 67",
      .inputs = { { { 2, { 3, 67 } }, CSE_FLOAT32, -2, 0 },
                  { { 2, { 3, 67 } }, CSE_FLOAT32, 0, 2 } },
      .input_count = 2 },
    { .name = "the other way",
      .inputs = { { { 2, { 3, 5 } }, CSE_FLOAT32, 0, 2 }, { { 2, { 3, 5 } }, CSE_FLOAT32, -2, 0 } },
      .input_count = 2 },
    { .name = "mixed",
      .inputs = { { { 2, { 3, 67 } }, CSE_FLOAT32, -2, 2 },
                  { { 2, { 3, 67 } }, CSE_FLOAT32, -2, 2 } },
      .input_count = 2,
      .skip_gradient = true },
    { .name = "int32",
      .inputs = { { { 2, { 5, 3 } }, CSE_INT32, -4, 5 }, { { 2, { 5, 3 } }, CSE_INT32, -4, 5 } },
      .input_count = 2,
      .skip_gradient = true },
    { .name = NULL },
};

const cse_op cse_op_maximum = {
    .name = "maximum",
    .summary = "the larger of two tensors' elements",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = cse_infer_numbers,
    .gradient = gradient,
    .reference = reference,
    .expression = "$0 > $1 || $0 != $0 ? $0 : $1",
    .samples = samples,
};
