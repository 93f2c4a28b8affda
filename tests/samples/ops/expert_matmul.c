/* Samples of expert_matmul, with independent values. */
#include "tests/samples/samples.h"

/* As of matmul: k products below 1 in float32 err by at most k^2 * 2^-24 (k <= 33: 6.5e-5). */
static const cse_op_sample samples[] = {
    { .name = "a linear layer",
      .inputs = { CSE_FLOATS(-1, 1, 9, 33), CSE_FLOATS(-1, 1, 3, 5, 33), CSE_INTEGERS(0, 3, 9) },
      .input_count = 3,
      CSE_WITH_INTEGERS(1),
      .tolerance = 6.5e-5 },
    { .name = "its gradient",
      .inputs = { CSE_FLOATS(-1, 1, 9, 7), CSE_FLOATS(-1, 1, 4, 7, 6), CSE_INTEGERS(0, 4, 9) },
      .input_count = 3,
      CSE_WITH_INTEGERS(0),
      .tolerance = 6.5e-5 },
    { .name = "one expert for all rows",
      .inputs = { CSE_FLOATS(-1, 1, 40, 17), CSE_FLOATS(-1, 1, 3, 20, 17), CSE_INTEGERS(1, 2, 40) },
      .input_count = 3,
      CSE_WITH_INTEGERS(1),
      .tolerance = 6.5e-5 },
    { .name = NULL },
};

CSE_SAMPLES(op, expert_matmul, samples);
