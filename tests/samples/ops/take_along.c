/* Samples of take_along, with independent values. */
#include "tests/samples/samples.h"

/* The op only copies values, so the tolerance is 0. */
static const cse_op_sample samples[] = {
    { .name = "rows",
      .inputs = { CSE_FLOATS(-2, 2, 5, 11), CSE_INTEGERS(0, 11, 5, 7) },
      .input_count = 2,
      CSE_WITH_INTEGERS(1) },
    { .name = "middle",
      .inputs = { CSE_FLOATS(-2, 2, 3, 6, 4), CSE_INTEGERS(0, 6, 3, 2, 4) },
      .input_count = 2,
      CSE_WITH_INTEGERS(1) },
    { .name = "int32, some outside",
      .inputs = { CSE_INTEGERS(-9, 9, 5, 11), CSE_INTEGERS(-2, 13, 5, 11) },
      .input_count = 2,
      CSE_WITH_INTEGERS(0),
      .skip_gradient = true },
    { .name = NULL },
};

CSE_SAMPLES(op, take_along, samples);
