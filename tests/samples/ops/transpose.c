/* Samples of transpose, with independent values. */
#include "tests/samples/samples.h"

static const cse_op_sample samples[] = {
    { .name = "a matrix",
      .inputs = { CSE_FLOATS(-2, 2, 5, 67) },
      .input_count = 1,
      CSE_WITH_INTEGERS(1, 0) },
    { .name = "heads",
      .inputs = { CSE_FLOATS(-2, 2, 2, 3, 4, 5) },
      .input_count = 1,
      CSE_WITH_INTEGERS(0, 2, 1, 3) },
    { .name = "a cycle",
      .inputs = { CSE_INTEGERS(-9, 9, 3, 4, 5) },
      .input_count = 1,
      CSE_WITH_INTEGERS(2, 0, 1),
      .skip_gradient = true },
    { .name = NULL },
};

CSE_SAMPLES(op, transpose, samples);
