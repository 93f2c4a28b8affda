/* Samples of matmul, with independent values. */
#include "tests/samples/samples.h"

/* k products below 1 summed in float32 in any order err by at most k^2 * 2^-24 (k <= 33: 6.5e-5),
 * relative to max(1, |y|). */
#define TRANSPOSED(a, b)                   \
    .input_count = 2, .tolerance = 6.5e-5, \
    .attributes = { .integer_count = 2, .integers = { a, b } }

static const cse_op_sample samples[] = {
    { .name = "plain",
      .inputs = { CSE_FLOATS(-1, 1, 5, 33), CSE_FLOATS(-1, 1, 33, 7) },
      TRANSPOSED(0, 0) },
    { .name = "second transposed",
      .inputs = { CSE_FLOATS(-1, 1, 5, 33), CSE_FLOATS(-1, 1, 7, 33) },
      TRANSPOSED(0, 1) },
    { .name = "first transposed",
      .inputs = { CSE_FLOATS(-1, 1, 33, 5), CSE_FLOATS(-1, 1, 33, 7) },
      TRANSPOSED(1, 0) },
    { .name = "both transposed",
      .inputs = { CSE_FLOATS(-1, 1, 33, 5), CSE_FLOATS(-1, 1, 7, 33) },
      TRANSPOSED(1, 1) },
    { .name = "batched",
      .inputs = { CSE_FLOATS(-1, 1, 2, 3, 5, 8), CSE_FLOATS(-1, 1, 2, 3, 6, 8) },
      TRANSPOSED(0, 1) },
    { .name = NULL },
};

CSE_SAMPLES(op, matmul, samples);
