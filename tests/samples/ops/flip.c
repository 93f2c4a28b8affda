/* Samples of flip, with independent values. */
#include "tests/samples/samples.h"

static const cse_op_sample samples[] = {
    { .name = "rows",
      .inputs = { CSE_FLOATS(-2, 2, 3, 67) },
      .input_count = 1,
      CSE_WITH_INTEGERS(2) },
    { .name = "two axes of three",
      .inputs = { CSE_FLOATS(-2, 2, 3, 5, 4) },
      .input_count = 1,
      CSE_WITH_INTEGERS(5) },
    { .name = NULL },
};

CSE_SAMPLES(op, flip, samples);
