/* Samples of gelu_gradient, with independent values. */
#include "tests/samples/samples.h"

/* A few roundings in float32, each relative to at most |x| <= 4, against double. */
static const cse_op_sample samples[] = {
    { .name = "exact",
      .inputs = { CSE_FLOATS(-4, 4, 3, 67), CSE_FLOATS(-1, 1, 3, 67) },
      .input_count = 2,
      CSE_WITH_INTEGERS(0),
      .tolerance = 2e-6 },
    { .name = "by tanh",
      .inputs = { CSE_FLOATS(-4, 4, 3, 67), CSE_FLOATS(-1, 1, 3, 67) },
      .input_count = 2,
      CSE_WITH_INTEGERS(1),
      .tolerance = 2e-6 },
    { .name = NULL },
};

CSE_SAMPLES(op, gelu_gradient, samples);
