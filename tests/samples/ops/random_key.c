/* Samples of random_key, with independent values. */
#include "tests/samples/samples.h"

static const cse_op_sample samples[] = {
    { .name = "of steps, the low half",
      .inputs = { CSE_INTEGERS(0, 9999, 67) },
      .input_count = 1,
      CSE_WITH_INTEGERS(3735928559, 0) },
    { .name = "of a step, the high half",
      .inputs = { { { 0, { 0 } }, CSE_INT32, 0, 9999 } },
      .input_count = 1,
      CSE_WITH_INTEGERS(3735928559, 1) },
    { .name = NULL },
};

CSE_SAMPLES(op, random_key, samples);
