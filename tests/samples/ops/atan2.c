/* Samples of atan2, with independent values. */
#include "tests/samples/samples.h"

static const cse_op_sample samples[] = {
    { .name = "all quarters",
      .inputs = { CSE_FLOATS(-2, 2, 3, 67), CSE_FLOATS(-2, 2, 3, 67) },
      .input_count = 2,
      .tolerance = 1e-6,
      .skip_gradient = true }, /* the angle jumps where x < 0 */
    { .name = "x above 0",
      .inputs = { CSE_FLOATS(-2, 2, 3, 67), CSE_FLOATS(0.5, 2, 3, 67) },
      .input_count = 2,
      .tolerance = 1e-6 },
    { .name = NULL },
};

CSE_SAMPLES(op, atan2, samples);
