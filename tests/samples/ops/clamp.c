/* Samples of clamp, with independent values. */
#include <math.h>

#include "tests/samples/samples.h"

#define INTO(low, high) \
    .input_count = 1, .attributes = { .number_count = 2, .numbers = { low, high } }

/* The op only copies values, so the tolerance is 0. Ends lie between the samples' values. */
static const cse_op_sample samples[] = {
    { .name = "a row of 67", .inputs = { CSE_FLOATS(-2, 2, 67) }, INTO(-0.507463, 1.223881) },
    { .name = "from below", .inputs = { CSE_FLOATS(-2, 2, 3, 20) }, INTO(-INFINITY, 0.466667) },
    { .name = "from above", .inputs = { CSE_FLOATS(-2, 2, 3, 20) }, INTO(-1.466667, INFINITY) },
    { .name = NULL },
};

CSE_SAMPLES(op, clamp, samples);
