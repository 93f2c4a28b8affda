/* Samples of expert_outer, with independent values. */
#include "tests/samples/samples.h"

/* At most 40 products below 1 in float32: 40^2 * 2^-24 = 9.6e-5. */
static const cse_op_sample samples[] = {
    { .name = "some rows for each",
      .inputs = { CSE_FLOATS(-1, 1, 40, 5), CSE_FLOATS(-1, 1, 40, 7), CSE_INTEGERS(0, 3, 40) },
      .input_count = 3,
      CSE_WITH_INTEGERS(3),
      .tolerance = 9.6e-5 },
    { .name = "experts without rows, sorted",
      .inputs = { CSE_FLOATS(-1, 1, 20, 18), CSE_FLOATS(-1, 1, 20, 33), CSE_INTEGERS(2, 3, 20) },
      .input_count = 3,
      CSE_WITH_INTEGERS(4),
      .tolerance = 9.6e-5 },
    { .name = "some outside",
      .inputs = { CSE_FLOATS(-1, 1, 20, 5), CSE_FLOATS(-1, 1, 20, 3), CSE_INTEGERS(-2, 5, 20) },
      .input_count = 3,
      CSE_WITH_INTEGERS(3),
      .tolerance = 9.6e-5,
      .skip_gradient = true },
    { .name = NULL },
};

CSE_SAMPLES(op, expert_outer, samples);
