/* Samples of gather, with independent values. */
#include "tests/samples/samples.h"

static const cse_op_sample samples[] = {
    { .name = "an embedding",
      .inputs = { CSE_FLOATS(-2, 2, 11, 7), CSE_INTEGERS(0, 11, 3, 5) },
      .input_count = 2 },
    { .name = "outside of the table",
      .inputs = { CSE_FLOATS(-2, 2, 11, 7), CSE_INTEGERS(-3, 14, 3, 5) },
      .input_count = 2,
      .skip_gradient = true },
    { .name = "numbers",
      .inputs = { CSE_FLOATS(-2, 2, 5), CSE_INTEGERS(0, 5, 9) },
      .input_count = 2 },
    { .name = NULL },
};

CSE_SAMPLES(op, gather, samples);
