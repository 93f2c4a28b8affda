/* Samples of is_within_rank, with independent values. */
#include "tests/samples/samples.h"

static const cse_op_sample samples[] = {
    { .name = "above and below 1",
      .inputs = { CSE_FLOATS(-2, 2, 3, 67), CSE_INTEGERS(0x3f800000, 0x3f800001, 3, 67),
                  CSE_INTEGERS(-1, 201, 3, 67) },
      .input_count = 3 },
    { .name = "equal ones by index",
      .inputs = { CSE_FLOATS(1, 1, 3, 67), CSE_INTEGERS(0x3f800000, 0x3f800001, 3, 67),
                  CSE_INTEGERS(50, 51, 3, 67) },
      .input_count = 3 },
    { .name = NULL },
};

CSE_SAMPLES(op, is_within_rank, samples);
