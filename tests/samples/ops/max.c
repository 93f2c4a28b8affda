/* Samples of max, with independent values. */
#include "tests/samples/samples.h"

#define OVER(...)                                                                  \
    .input_count = 1,                                                              \
    .attributes = { .integer_count = sizeof((int[]){ __VA_ARGS__ }) / sizeof(int), \
                    .integers = { __VA_ARGS__ } }

static const cse_op_sample samples[] = {
    { .name = "rows kept", .inputs = { CSE_FLOATS(-2, 2, 5, 67) }, OVER(1, 1) },
    { .name = "rows", .inputs = { CSE_FLOATS(-2, 2, 5, 67) }, OVER(0, 1) },
    { .name = "columns", .inputs = { CSE_FLOATS(-2, 2, 5, 67) }, OVER(0, 0) },
    { .name = "middle", .inputs = { CSE_FLOATS(-2, 2, 3, 5, 7) }, OVER(0, 1) },
    { .name = "all", .inputs = { CSE_FLOATS(-2, 2, 5, 7) }, OVER(0, 0, 1) },
    { .name = NULL },
};

CSE_SAMPLES(op, max, samples);
