/* Samples of scatter_add, with independent values. */
#include "tests/samples/samples.h"

/* At most 15 rows below 2 added in float32: 15 * 30 * 2^-24. */
static const cse_op_sample samples[] = {
    { .name = "an embedding's gradient",
      .inputs = { CSE_FLOATS(-2, 2, 3, 5, 7), CSE_INTEGERS(-1, 5, 3, 5) },
      .input_count = 2,
      CSE_WITH_INTEGERS(4),
      .tolerance = 3e-5 },
    { .name = "added to a table",
      .inputs = { CSE_FLOATS(-2, 2, 3, 5, 7), CSE_INTEGERS(-1, 5, 3, 5), CSE_FLOATS(-2, 2, 4, 7) },
      .input_count = 3,
      CSE_WITH_INTEGERS(4),
      .tolerance = 3e-5 },
    { .name = NULL },
};

CSE_SAMPLES(op, scatter_add, samples);
