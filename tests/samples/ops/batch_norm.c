/* Samples of batch_norm, with independent values. */
#include "tests/samples/samples.h"

#define EPSILON .input_count = 3, .attributes = { .number_count = 1, .numbers = { 1e-5 } }

/* Sums of at most 120 terms in float32 in mean and variance: 120 * 2^-24 of values near 1, twice.
 */
static const cse_op_sample samples[] = {
    { .name = "images",
      .inputs = { CSE_FLOATS(-2, 2, 4, 3, 5, 6), CSE_FLOATS(0.5, 1.5, 3), CSE_FLOATS(-1, 1, 3) },
      EPSILON,
      .tolerance = 3e-5 },
    { .name = "rows",
      .inputs = { CSE_FLOATS(-2, 2, 9, 17), CSE_FLOATS(0.5, 1.5, 17), CSE_FLOATS(-1, 1, 17) },
      EPSILON,
      .tolerance = 3e-5 },
    { .name = "in time",
      .inputs = { CSE_FLOATS(-2, 2, 3, 4, 7), CSE_FLOATS(0.5, 1.5, 4), CSE_FLOATS(-1, 1, 4) },
      EPSILON,
      .tolerance = 3e-5 },
    { .name = NULL },
};

CSE_SAMPLES(op, batch_norm, samples);
