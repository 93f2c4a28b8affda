/* Samples of logical_not, with independent values. */
#include "tests/samples/samples.h"

static const cse_op_sample samples[] = {
    { .name = "a row of 67", .inputs = { CSE_BOOLS(3, 67) }, .input_count = 1 },
    { .name = NULL },
};

CSE_SAMPLES(op, logical_not, samples);
