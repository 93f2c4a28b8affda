/* Samples of random_normal, with independent values. */
#include "tests/samples/samples.h"

/* Tolerance: logarithm, root and cosine in float32 err by a few units of 2^-23, scaled by the
 * deviation 2 and the largest draw. */
static const cse_op_sample samples[] = {
    { .name = "of samples",
      .inputs = { CSE_INTEGERS(0, 256, 6, 67) },
      .input_count = 1,
      .attributes = { .integer_count = 2,
                      .integers = { 3735928559, 67 },
                      .number_count = 2,
                      .numbers = { 1, 2 } },
      .tolerance = 4e-6 },
    { .name = NULL },
};

CSE_SAMPLES(op, random_normal, samples);
