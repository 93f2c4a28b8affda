/* Samples of scatter_add_along, with independent values. */
#include "tests/samples/samples.h"

/* At most 11 elements below 2 added in float32: 11 * 22 * 2^-24. */
static const cse_op_sample samples[] = {
    { .name = "rows",
      .inputs = { CSE_FLOATS(-2, 2, 5, 11), CSE_INTEGERS(0, 6, 5, 11) },
      .input_count = 2,
      CSE_WITH_INTEGERS(1, 6),
      .tolerance = 2e-5 },
    { .name = "middle, some outside",
      .inputs = { CSE_FLOATS(-2, 2, 3, 6, 4), CSE_INTEGERS(-1, 6, 3, 6, 4) },
      .input_count = 2,
      CSE_WITH_INTEGERS(1, 5),
      .tolerance = 2e-5 },
    { .name = NULL },
};

CSE_SAMPLES(op, scatter_add_along, samples);
