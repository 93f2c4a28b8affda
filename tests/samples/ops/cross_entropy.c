/* Samples of cross_entropy, with independent values. */
#include "tests/samples/samples.h"

/* Tolerance: a float32 sum of at most 67 terms and a few ulp of the logarithm, on values below 13.
 */
static const cse_op_sample samples[] = {
    { .name = "10 classes",
      .inputs = { CSE_FLOATS(-4, 4, 9, 10), CSE_INTEGERS(0, 10, 9) },
      .input_count = 2,
      .tolerance = 5e-6 },
    { .name = "67 classes in time, some ignored",
      .inputs = { CSE_FLOATS(-4, 4, 2, 3, 67), CSE_INTEGERS(0, 3, 2, 3) },
      .input_count = 2,
      .attributes = { .integer_count = 1, .integers = { 1 } },
      .tolerance = 5e-6 },
    { .name = NULL },
};

CSE_SAMPLES(op, cross_entropy, samples);
