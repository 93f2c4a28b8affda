/* Samples of conv2d_gradient_weight, with independent values. */
#include "tests/samples/ops/convolution.h"
#include "tests/samples/samples.h"

/* At most 72 products below 1 summed in float32: 72^2 * 2^-24. */
static const cse_op_sample samples[] = {
    CSE_CONV2D_SAMPLE("plain", 3.4e-4, (2, 3, 8, 7), (2, 4, 6, 5), 1, 1, 0, 0, 1, 1, 1, 3, 3),
    CSE_CONV2D_SAMPLE("stride 2, padded", 3.4e-4, (2, 3, 8, 7), (2, 4, 4, 4), 2, 2, 2, 2, 1, 1, 1,
                      5, 5),
    CSE_CONV2D_SAMPLE("dilated", 3.4e-4, (1, 2, 9, 9), (1, 3, 7, 2), 1, 2, 1, 0, 2, 3, 1, 3, 3),
    CSE_CONV2D_SAMPLE("two groups", 3.4e-4, (2, 4, 6, 6), (2, 6, 6, 6), 1, 1, 1, 1, 1, 1, 2, 3, 3),
    { .name = NULL },
};

CSE_SAMPLES(op, conv2d_gradient_weight, samples);
