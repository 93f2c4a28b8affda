/* Samples of conv2d_gradient_input, with independent values. */
#include "tests/samples/ops/convolution.h"
#include "tests/samples/samples.h"

/* At most 100 products below 1 summed in float32: 100^2 * 2^-24. */
static const cse_op_sample samples[] = {
    CSE_CONV2D_SAMPLE("plain", 6e-4, (4, 3, 3, 3), (2, 4, 6, 5), 1, 1, 0, 0, 1, 1, 1, 8, 7),
    CSE_CONV2D_SAMPLE("stride 2, padded", 6e-4, (4, 3, 5, 5), (2, 4, 4, 4), 2, 2, 2, 2, 1, 1, 1, 8,
                      7),
    CSE_CONV2D_SAMPLE("dilated", 6e-4, (3, 2, 3, 3), (1, 3, 7, 2), 1, 2, 1, 0, 2, 3, 1, 9, 9),
    CSE_CONV2D_SAMPLE("two groups", 6e-4, (6, 2, 3, 3), (2, 6, 6, 6), 1, 1, 1, 1, 1, 1, 2, 6, 6),
    { .name = NULL },
};

CSE_SAMPLES(op, conv2d_gradient_input, samples);
