/* Samples of conv2d, with independent values. */
#include "tests/samples/ops/convolution.h"
#include "tests/samples/samples.h"

/* At most 75 products below 1 summed in float32: 75^2 * 2^-24. */
static const cse_op_sample samples[] = {
    CSE_CONV2D_SAMPLE("plain", 3.4e-4, (2, 3, 8, 7), (4, 3, 3, 3), 1, 1, 0, 0, 1, 1, 1),
    CSE_CONV2D_SAMPLE("stride 2, padded", 3.4e-4, (2, 3, 8, 7), (4, 3, 5, 5), 2, 2, 2, 2, 1, 1, 1),
    CSE_CONV2D_SAMPLE("dilated", 3.4e-4, (1, 2, 9, 9), (3, 2, 3, 3), 1, 2, 1, 0, 2, 3, 1),
    CSE_CONV2D_SAMPLE("two groups", 3.4e-4, (2, 4, 6, 6), (6, 2, 3, 3), 1, 1, 1, 1, 1, 1, 2),
    { .name = NULL },
};

CSE_SAMPLES(op, conv2d, samples);
