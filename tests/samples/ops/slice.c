/* Samples of slice, with independent values. */
#include "tests/samples/samples.h"

static const cse_op_sample samples[] = {
    { .name = "a corner",
      .inputs = { CSE_FLOATS(-2, 2, 5, 67) },
      .input_count = 1,
      CSE_WITH_INTEGERS(1, 3, 4, 60, 1, 1) },
    { .name = "by steps",
      .inputs = { CSE_FLOATS(-2, 2, 7, 4, 9) },
      .input_count = 1,
      CSE_WITH_INTEGERS(0, 1, 2, 7, 2, 9, 2, 1, 3) },
    { .name = NULL },
};

CSE_SAMPLES(op, slice, samples);
