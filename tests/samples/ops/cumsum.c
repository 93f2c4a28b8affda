/* Samples of cumsum, with independent values. */
#include "tests/samples/samples.h"

/* At most 67 terms below 2 added in float32: 67 * 134 * 2^-24. */
static const cse_op_sample samples[] = {
    { .name = "rows",
      .inputs = { CSE_FLOATS(-2, 2, 5, 67) },
      .input_count = 1,
      CSE_WITH_INTEGERS(1, 0),
      .tolerance = 6e-4 },
    { .name = "middle, from the end",
      .inputs = { CSE_FLOATS(-2, 2, 3, 6, 4) },
      .input_count = 1,
      CSE_WITH_INTEGERS(1, 1),
      .tolerance = 5e-6 },
    { .name = "int32",
      .inputs = { CSE_INTEGERS(-9, 9, 5, 7) },
      .input_count = 1,
      CSE_WITH_INTEGERS(0, 0),
      .skip_gradient = true },
    { .name = NULL },
};

CSE_SAMPLES(op, cumsum, samples);
