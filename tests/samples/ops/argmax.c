/* Samples of argmax, with independent values. */
#include "tests/samples/samples.h"

static const cse_op_sample samples[] = {
    { .name = "rows",
      .inputs = { CSE_FLOATS(-2, 2, 9, 10) },
      .input_count = 1,
      CSE_WITH_INTEGERS(1) },
    { .name = "middle, with equals",
      .inputs = { CSE_INTEGERS(0, 3, 3, 6, 4) },
      .input_count = 1,
      CSE_WITH_INTEGERS(1) },
    { .name = NULL },
};

CSE_SAMPLES(op, argmax, samples);
