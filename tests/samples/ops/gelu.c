/* Samples of gelu, with independent values. */
#include "tests/samples/samples.h"

/* A few roundings in float32, each relative to at most |x| <= 4, against double. */
static const cse_op_sample samples[] = {
    { .name = "exact",
      .inputs = { CSE_FLOATS(-4, 4, 3, 67) },
      .input_count = 1,
      CSE_WITH_INTEGERS(0),
      .tolerance = 2e-6 },
    { .name = "by tanh",
      .inputs = { CSE_FLOATS(-4, 4, 3, 67) },
      .input_count = 1,
      CSE_WITH_INTEGERS(1),
      .tolerance = 2e-6 },
    { .name = NULL },
};

CSE_SAMPLES(op, gelu, samples);
