/* Samples of concat, with independent values. */
#include "tests/samples/samples.h"

static const cse_op_sample samples[] = {
    { .name = "columns",
      .inputs = { CSE_FLOATS(-2, 2, 5, 7), CSE_FLOATS(-2, 2, 5, 1), CSE_FLOATS(-2, 2, 5, 4) },
      .input_count = 3,
      CSE_WITH_INTEGERS(1) },
    { .name = "rows",
      .inputs = { CSE_FLOATS(-2, 2, 2, 3, 4), CSE_FLOATS(-2, 2, 1, 3, 4) },
      .input_count = 2,
      CSE_WITH_INTEGERS(0) },
    { .name = NULL },
};

CSE_SAMPLES(op, concat, samples);
