/* Samples of rms_norm, with independent values. */
#include "tests/samples/samples.h"

/* A sum of at most 67 terms in float32: 67 * 2^-24 of values near 1. */
static const cse_op_sample samples[] = {
    { .name = "rows",
      .inputs = { CSE_FLOATS(-2, 2, 9, 67), CSE_FLOATS(0.5, 1.5, 67) },
      .input_count = 2,
      .attributes = { .number_count = 1, .numbers = { 1e-5 } },
      .tolerance = 1e-5 },
    { .name = "in time",
      .inputs = { CSE_FLOATS(-2, 2, 2, 3, 16), CSE_FLOATS(0.5, 1.5, 16) },
      .input_count = 2,
      .attributes = { .number_count = 1, .numbers = { 1e-5 } },
      .tolerance = 1e-5 },
    { .name = NULL },
};

CSE_SAMPLES(op, rms_norm, samples);
