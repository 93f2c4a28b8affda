/* Samples of is_draw_within_rank, with independent values. */
#include "tests/samples/samples.h"

static const cse_op_sample samples[] = {
    { .name = "a row of 67",
      .inputs = { CSE_INTEGERS(-2147483647, 2147483647, 3, 67),
                  CSE_INTEGERS(-2147483647, 2147483647, 3, 67), CSE_INTEGERS(0, 2147483647, 3, 67),
                  CSE_INTEGERS(0, 201, 3, 67) },
      .input_count = 4 },
    { .name = NULL },
};

CSE_SAMPLES(op, is_draw_within_rank, samples);
