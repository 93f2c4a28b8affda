/* Samples of bitwise_xor, with independent values. */
#include "tests/samples/samples.h"

static const cse_op_sample samples[] = {
    { .name = "both signs",
      .inputs = { CSE_INTEGERS(-2147483648., 2147483647., 5, 13), CSE_INTEGERS(-100, 100, 5, 13) },
      .input_count = 2 },
    { .name = NULL },
};

CSE_SAMPLES(op, bitwise_xor, samples);
