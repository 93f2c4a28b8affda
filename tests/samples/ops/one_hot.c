/* Samples of one_hot, with independent values. */
#include "tests/samples/samples.h"

static const cse_op_sample samples[] = {
    { .name = "7 classes", .inputs = { CSE_INTEGERS(-1, 8, 12, 7) }, .input_count = 1 },
    { .name = NULL },
};

CSE_SAMPLES(op, one_hot, samples);
