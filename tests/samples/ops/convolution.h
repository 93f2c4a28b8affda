/* A form of the samples of convolutions. */
#ifndef CSE_TESTS_SAMPLES_OPS_CONVOLUTION_H
#define CSE_TESTS_SAMPLES_OPS_CONVOLUTION_H

#include "csengine/op.h"

/* A sample: the sizes of both inputs in parentheses, then the attributes. */
#define CSE_CONV2D_SAMPLE(title, bound, first, second, ...)                             \
    {                                                                                   \
        .name = title, .inputs = { CSE_CONV2D_FLOATS first, CSE_CONV2D_FLOATS second }, \
        .input_count = 2, .tolerance = (bound), CSE_WITH_INTEGERS(__VA_ARGS__)          \
    }
#define CSE_CONV2D_FLOATS(...) CSE_FLOATS(-1, 1, __VA_ARGS__)

#endif
