/* Samples of causal_mask, with independent values. */
#include "tests/samples/samples.h"

/* The op only copies values, so the tolerance is 0. */
static const cse_op_sample samples[] = {
    { .name = "square",
      .inputs = { CSE_FLOATS(-2, 2, 2, 3, 5, 5) },
      .input_count = 1,
      .attributes = { .integer_count = 2,
                      .integers = { 5, 5 },
                      .number_count = 1,
                      .numbers = { -7 } } },
    { .name = "more keys than queries",
      .inputs = { CSE_FLOATS(-2, 2, 2, 3, 70) },
      .input_count = 1,
      .attributes = { .integer_count = 2, .integers = { 3, 70 }, .number_count = 1 } },
    { .name = NULL },
};

CSE_SAMPLES(op, causal_mask, samples);
