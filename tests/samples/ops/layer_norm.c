/* Samples of layer_norm, with independent values. */
#include "tests/samples/samples.h"

/* Sums of at most 67 terms in float32 in mean and variance: 67 * 2^-24 of values near 1, twice. */
static const cse_op_sample samples[] = {
    { .name = "rows",
      .inputs = { CSE_FLOATS(-2, 2, 9, 67), CSE_FLOATS(0.5, 1.5, 67), CSE_FLOATS(-1, 1, 67) },
      .input_count = 3,
      .attributes = { .number_count = 1, .numbers = { 1e-5 } },
      .tolerance = 1e-5 },
    { .name = "in time",
      .inputs = { CSE_FLOATS(-2, 2, 2, 3, 16), CSE_FLOATS(0.5, 1.5, 16), CSE_FLOATS(-1, 1, 16) },
      .input_count = 3,
      .attributes = { .number_count = 1, .numbers = { 1e-5 } },
      .tolerance = 1e-5 },
    { .name = NULL },
};

CSE_SAMPLES(op, layer_norm, samples);
