/* Samples of softmax, with independent values. */
#include "tests/samples/samples.h"

/* exp, a sum of at most 67 terms in float32 and two roundings: 70 * 2^-24 of a value below 1. */
static const cse_op_sample samples[] = {
    { .name = "rows", .inputs = { CSE_FLOATS(-4, 4, 9, 67) }, .input_count = 1, .tolerance = 5e-6 },
    { .name = "large values",
      .inputs = { CSE_FLOATS(900, 901, 2, 3, 5) },
      .input_count = 1,
      .tolerance = 5e-6,
      .skip_gradient = true },
    { .name = NULL },
};

CSE_SAMPLES(op, softmax, samples);
