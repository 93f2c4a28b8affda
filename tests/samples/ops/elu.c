/* Samples of elu, with independent values. */
#include "tests/samples/samples.h"

#define ALPHA(alpha) \
    .input_count = 1, .attributes = { .number_count = 1, .numbers = { alpha } }, .tolerance = 2e-6

/* The exponential is off by a few units in the last place, of values below 2. */
static const cse_op_sample samples[] = {
    { .name = "a row of 67", .inputs = { CSE_FLOATS(-4, 4, 3, 67) }, ALPHA(1) },
    { .name = "negative", .inputs = { CSE_FLOATS(-4, -0.1, 3, 67) }, ALPHA(1.5) },
    { .name = NULL },
};

CSE_SAMPLES(op, elu, samples);
