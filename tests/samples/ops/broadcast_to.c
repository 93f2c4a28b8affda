/* Samples of broadcast_to, with independent values. */
#include "tests/samples/samples.h"

#define TO(...) .attributes = { .integer_count = 3, .integers = { __VA_ARGS__ } }, .input_count = 1

static const cse_op_sample samples[] = {
    { .name = "a row", .inputs = { CSE_FLOATS(-2, 2, 7) }, TO(3, 5, 7) },
    { .name = "a column", .inputs = { CSE_FLOATS(-2, 2, 5, 1) }, TO(3, 5, 7) },
    { .name = "a scalar", .inputs = { { { 0, { 0 } }, CSE_FLOAT32, -2, 2 } }, TO(3, 5, 7) },
    { .name = "the middle", .inputs = { CSE_FLOATS(-2, 2, 3, 1, 7) }, TO(3, 5, 7) },
    { .name = NULL },
};

CSE_SAMPLES(op, broadcast_to, samples);
