/* Samples of scatter_along, with independent values. */
#include "tests/samples/samples.h"

/* The op only copies values, so the tolerance is 0. */
static const cse_op_sample samples[] = {
    { .name = "rows, some twice",
      .inputs = { CSE_FLOATS(-2, 2, 5, 11), CSE_INTEGERS(0, 11, 5, 7), CSE_FLOATS(-2, 2, 5, 7) },
      .input_count = 3,
      CSE_WITH_INTEGERS(1) },
    { .name = "middle, some outside",
      .inputs = { CSE_FLOATS(-2, 2, 3, 4, 2), CSE_INTEGERS(-1, 5, 3, 6, 2),
                  CSE_FLOATS(-2, 2, 3, 6, 2) },
      .input_count = 3,
      CSE_WITH_INTEGERS(1) },
    { .name = "int32",
      .inputs = { CSE_INTEGERS(-9, 9, 5, 11), CSE_INTEGERS(0, 5, 3, 11),
                  CSE_INTEGERS(-9, 9, 3, 11) },
      .input_count = 3,
      CSE_WITH_INTEGERS(0),
      .skip_gradient = true },
    { .name = NULL },
};

CSE_SAMPLES(op, scatter_along, samples);
