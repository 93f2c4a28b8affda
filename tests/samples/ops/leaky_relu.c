/* Samples of leaky_relu, with independent values. */
#include "tests/samples/samples.h"

#define SLOPE .input_count = 1, .attributes = { .number_count = 1, .numbers = { 0.125 } }

static const cse_op_sample samples[] = {
    { .name = "positive", .inputs = { CSE_FLOATS(0.1, 2, 3, 67) }, SLOPE },
    { .name = "negative", .inputs = { CSE_FLOATS(-2, -0.1, 3, 67) }, SLOPE },
    { .name = "both signs",
      .inputs = { CSE_FLOATS(-2, 2, 3, 67) },
      SLOPE,
      .skip_gradient = true }, /* a kink at 0 */
    { .name = NULL },
};

CSE_SAMPLES(op, leaky_relu, samples);
