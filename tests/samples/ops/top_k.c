/* Samples of top_k, with independent values. */
#include "tests/samples/samples.h"

static const cse_op_sample samples[] = {
    { .name = "three of a row",
      .inputs = { CSE_FLOATS(-2, 2, 5, 67) },
      .input_count = 1,
      CSE_WITH_INTEGERS(1, 3, 0) },
    { .name = "the smallest in the middle, with equals",
      .inputs = { CSE_INTEGERS(0, 4, 3, 17, 4) },
      .input_count = 1,
      CSE_WITH_INTEGERS(1, 9, 1) },
    { .name = "all",
      .inputs = { CSE_FLOATS(-2, 2, 40, 3) },
      .input_count = 1,
      CSE_WITH_INTEGERS(0, 40, 1) },
    { .name = NULL },
};

CSE_SAMPLES(op, top_k, samples);
