/* Samples of remainder, with independent values. */
#include "tests/samples/samples.h"

static const cse_op_sample samples[] = {
    { .name = "both signs",
      .inputs = { CSE_INTEGERS(-40, 41, 5, 13), CSE_INTEGERS(-3, 4, 5, 13) },
      .input_count = 2 },
    { .name = NULL },
};

CSE_SAMPLES(op, remainder, samples);
