/* logical_and: a and b, of two tensors of bools. */
#include "engine/trace/arguments.h"

extern const cse_op cse_op_logical_and;

/** a and b; of bools. Broadcasts. */
CSE_API cse_tensor *cse_logical_and(cse_tensor *a, cse_tensor *b)
{
    return cse_trace_broadcast_2(&cse_op_logical_and, a, b);
}

static double value_of(double a, double b)
{
    return a != 0 && b != 0;
}

static void reference(const cse_reference *call)
{
    cse_reference_binary(call, value_of, NULL);
}

static const cse_op_sample samples[] = {
    { .name = "a row of 67",
      .inputs = { { { 2, { 3, 67 } }, CSE_BOOL, 0, 2 }, { { 2, { 3, 67 } }, CSE_BOOL, 0, 2 } },
      .input_count = 2,
      .skip_gradient = true },
    { .name = NULL },
};

const cse_op cse_op_logical_and = {
    .name = "logical_and",
    .summary = "a and b, of two tensors of bools",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = cse_infer_logical,
    .reference = reference,
    .expression = "$0 && $1",
    .samples = samples,
};
