/* Samples of reshape, with independent values. */
#include "tests/samples/samples.h"

static const cse_op_sample samples[] = {
    { .name = "merged",
      .inputs = { CSE_FLOATS(-2, 2, 3, 4, 5) },
      .input_count = 1,
      CSE_WITH_INTEGERS(12, 5) },
    { .name = NULL },
};

CSE_SAMPLES(op, reshape, samples);
