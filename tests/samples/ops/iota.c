/* Samples of iota, with independent values. */
#include "tests/samples/samples.h"

static const cse_op_sample samples[] = {
    { .name = "a row of 67",
      .inputs = { CSE_INTEGERS(0, 2, 67) },
      .input_count = 1,
      CSE_WITH_INTEGERS(-3, 2) },
    { .name = "rows",
      .inputs = { CSE_INTEGERS(0, 2, 3, 7) },
      .input_count = 1,
      CSE_WITH_INTEGERS(5, -1) },
    { .name = NULL },
};

CSE_SAMPLES(op, iota, samples);
