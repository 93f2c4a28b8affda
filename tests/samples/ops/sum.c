/* Samples of sum, with independent values. */
#include "tests/samples/samples.h"

/* n terms below 2 added in float32 in any order err by at most n * 2^-24 * sum|x| <= n^2 * 2^-23;
 * typical errors grow with sqrt(n) only, and n <= 105 here. */
#define OVER(...)                                                                  \
    .input_count = 1, .tolerance = 1e-4,                                           \
    .attributes = { .integer_count = sizeof((int[]){ __VA_ARGS__ }) / sizeof(int), \
                    .integers = { __VA_ARGS__ } }

static const cse_op_sample samples[] = {
    { .name = "rows", .inputs = { CSE_FLOATS(-2, 2, 5, 67) }, OVER(0, 1) },
    { .name = "rows kept", .inputs = { CSE_FLOATS(-2, 2, 5, 67) }, OVER(1, 1) },
    { .name = "columns", .inputs = { CSE_FLOATS(-2, 2, 5, 67) }, OVER(0, 0) },
    { .name = "leading", .inputs = { CSE_FLOATS(-2, 2, 3, 5, 7) }, OVER(0, 0, 1) },
    { .name = "middle", .inputs = { CSE_FLOATS(-2, 2, 3, 5, 7) }, OVER(1, 1) },
    { .name = "outer", .inputs = { CSE_FLOATS(-2, 2, 3, 5, 7) }, OVER(0, 0, 2) },
    { .name = "all", .inputs = { CSE_FLOATS(-2, 2, 3, 5, 7) }, OVER(0, 0, 1, 2) },
    { .name = "int32", .inputs = { CSE_INTEGERS(-9, 9, 5, 7) }, OVER(0, 1), .skip_gradient = true },
    { .name = NULL },
};

CSE_SAMPLES(op, sum, samples);
