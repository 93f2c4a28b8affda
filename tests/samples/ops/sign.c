/* Samples of sign, with independent values. */
#include "tests/samples/samples.h"

static const cse_op_sample samples[] = {
    { .name = "a row of 67",
      .inputs = { CSE_FLOATS(-2, 2, 3, 67) },
      .input_count = 1,
      .skip_gradient = true },
    { .name = NULL },
};

CSE_SAMPLES(op, sign, samples);
