/* Samples of pooling and its gradients. */
#include "tests/samples/samples.h"

#define FLOATS(...) CSE_FLOATS(-2, 2, __VA_ARGS__)

#define POOLING(title, bound, x, ...)                                                \
    {                                                                                \
        .name = title, .inputs = { FLOATS x }, .input_count = 1, .tolerance = bound, \
        CSE_WITH_INTEGERS(__VA_ARGS__)                                               \
    }

#define GRADIENT(title, x, dy, ...)                                                            \
    {                                                                                          \
        .name = title, .inputs = { FLOATS x, FLOATS dy }, .input_count = 2, .tolerance = 1e-5, \
        CSE_WITH_INTEGERS(__VA_ARGS__)                                                         \
    }

static const cse_op_sample max_pool2d[] = {
    POOLING("2 by 2", 0, (2, 3, 8, 6), 2, 2, 0, 0, 1, 1, 2, 2, 1),
    POOLING("overlapping, padded", 0, (2, 3, 9, 7), 2, 2, 1, 1, 1, 1, 3, 3, 1),
    POOLING("padding not counted", 0, (2, 1, 5, 9), 1, 3, 1, 1, 1, 1, 2, 3, 0),
    { .name = NULL },
};

/* At most 9 terms below 2 summed in float32 and divided. */
static const cse_op_sample avg_pool2d[] = {
    POOLING("2 by 2", 1e-5, (2, 3, 8, 6), 2, 2, 0, 0, 1, 1, 2, 2, 1),
    POOLING("overlapping, padded", 1e-5, (2, 3, 9, 7), 2, 2, 1, 1, 1, 1, 3, 3, 1),
    POOLING("padding not counted", 1e-5, (2, 1, 5, 9), 1, 3, 1, 1, 1, 1, 2, 3, 0),
    { .name = NULL },
};

/* Up to 9 overlapping windows summed in float32, each below 2. */
static const cse_op_sample pool2d_gradients[] = {
    GRADIENT("2 by 2", (2, 3, 8, 6), (2, 3, 4, 3), 2, 2, 0, 0, 1, 1, 2, 2, 1),
    GRADIENT("overlapping, padded", (2, 3, 9, 7), (2, 3, 5, 4), 2, 2, 1, 1, 1, 1, 3, 3, 1),
    GRADIENT("padding not counted", (2, 1, 5, 9), (2, 1, 6, 3), 1, 3, 1, 1, 1, 1, 2, 3, 0),
    { .name = NULL },
};

CSE_SAMPLES(op, max_pool2d, max_pool2d);
CSE_SAMPLES(op, avg_pool2d, avg_pool2d);
CSE_SAMPLES(op, max_pool2d_gradient, pool2d_gradients);
CSE_SAMPLES(op, avg_pool2d_gradient, pool2d_gradients);
