/* logical_not: the opposite of each bool. */
#include "engine/trace/arguments.h"

extern const cse_op cse_op_logical_not;

/** Not x; of a bool. */
CSE_API cse_tensor *cse_logical_not(cse_tensor *x)
{
    return cse_trace_1(&cse_op_logical_not, NULL, x);
}

static double value_of(double x)
{
    return x == 0;
}

static void reference(const cse_reference *call)
{
    cse_reference_unary(call, value_of);
}

static const cse_op_sample samples[] = {
    { .name = "a row of 67",
      .inputs = { { { 2, { 3, 67 } }, CSE_BOOL, 0, 2 } },
      .input_count = 1,
      .skip_gradient = true },
    { .name = NULL },
};

const cse_op cse_op_logical_not = {
    .name = "logical_not",
    .summary = "the opposite of each bool",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_logical,
    .reference = reference,
    .expression = "!$0",
    .samples = samples,
};
