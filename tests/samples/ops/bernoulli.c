/* Samples of bernoulli, with independent values. */
#include "tests/samples/samples.h"

static const cse_op_sample samples[] = {
    { .name = "of samples",
      .inputs = { CSE_INTEGERS(0, 256, 6, 67) },
      .input_count = 1,
      .attributes = { .integer_count = 2,
                      .integers = { 3735928559, 67 },
                      .number_count = 1,
                      .numbers = { 0.3 } } },
    { .name = NULL },
};

CSE_SAMPLES(op, bernoulli, samples);
