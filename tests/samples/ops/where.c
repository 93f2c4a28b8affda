/* Samples of where, with independent values. */
#include "tests/samples/samples.h"

static const cse_op_sample samples[] = {
    { .name = "a row of 67",
      .inputs = { CSE_BOOLS(3, 67), CSE_FLOATS(-2, 2, 3, 67), CSE_FLOATS(-2, 2, 3, 67) },
      .input_count = 3 },
    { .name = "int32",
      .inputs = { CSE_BOOLS(9), CSE_INTEGERS(-9, 9, 9), CSE_INTEGERS(-9, 9, 9) },
      .input_count = 3,
      .skip_gradient = true },
    { .name = NULL },
};

CSE_SAMPLES(op, where, samples);
