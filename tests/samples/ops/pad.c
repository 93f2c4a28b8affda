/* Samples of pad, with independent values. */
#include "tests/samples/samples.h"

static const cse_op_sample samples[] = {
    { .name = "around",
      .inputs = { CSE_FLOATS(-2, 2, 3, 7) },
      .input_count = 1,
      .attributes = { .integer_count = 6,
                      .integers = { 1, 0, 2, 3, 0, 0 },
                      .number_count = 1,
                      .numbers = { 0.5 } } },
    { .name = "between",
      .inputs = { CSE_FLOATS(-2, 2, 2, 3, 4) },
      .input_count = 1,
      .attributes = { .integer_count = 9,
                      .integers = { 0, 1, 2, 1, 1, 0, 0, 2, 1 },
                      .number_count = 1,
                      .numbers = { -1 } } },
    { .name = NULL },
};

CSE_SAMPLES(op, pad, samples);
