/* Samples of ceil, with independent values. */
#include "tests/samples/samples.h"

/* Whole numbers and what lies halfway between them among the rest. */
static const cse_op_sample samples[] = {
    { .name = "a row of 67",
      .inputs = { CSE_FLOATS(-3, 3, 3, 67) },
      .input_count = 1,
      .skip_gradient = true },
    { .name = "halves",
      .inputs = { CSE_FLOATS(-2.25, 2.25, 9) },
      .input_count = 1,
      .skip_gradient = true },
    { .name = "large",
      .inputs = { CSE_FLOATS(-3e9, 3e9, 67) },
      .input_count = 1,
      .skip_gradient = true },
    { .name = NULL },
};

CSE_SAMPLES(op, ceil, samples);
