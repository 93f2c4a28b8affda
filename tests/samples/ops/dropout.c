/* Samples of dropout, with independent values. */
#include "tests/samples/samples.h"

static const cse_op_sample samples[] = {
    { .name = "a quarter",
      .inputs = { CSE_FLOATS(-2, 2, 6, 67), CSE_INTEGERS(0, 256, 6, 67) },
      .input_count = 2,
      .attributes = { .integer_count = 2,
                      .integers = { 3735928559, 67 },
                      .number_count = 2,
                      .numbers = { 0.25, 4.0 / 3 } } },
    { .name = NULL },
};

CSE_SAMPLES(op, dropout, samples);
