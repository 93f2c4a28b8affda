/* Samples of log_softmax, with independent values. */
#include "tests/samples/samples.h"

/* Tolerance: a float32 sum of at most 67 terms and a few ulp of the logarithm, on values below 13.
 */
static const cse_op_sample samples[] = {
    { .name = "rows", .inputs = { CSE_FLOATS(-4, 4, 9, 67) }, .input_count = 1, .tolerance = 5e-6 },
    { .name = "far apart",
      .inputs = { CSE_FLOATS(-300, 300, 2, 3, 5) },
      .input_count = 1,
      .tolerance = 5e-6,
      .skip_gradient = true },
    { .name = NULL },
};

CSE_SAMPLES(op, log_softmax, samples);
