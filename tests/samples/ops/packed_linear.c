/* Samples of packed_linear, with independent values. */
#include "tests/samples/samples.h"

/* Words whose halves are float16 numbers from 1/128 to 1/64, wherever a block has its factors: of
 * 34 bytes (Q8_0, number 8), of 20 (Q4_1, 3) and of 210 (Q6_K, 14). */
#define WORDS(...) CSE_INTEGERS(0x20002000, 0x20002400, __VA_ARGS__)

/* k products in float32 err by at most k^2 * 2^-24 of the largest, which is below 1 (Q8_0, Q4_1)
 * and 20 (Q6_K). */
static const cse_op_sample samples[] = {
    { .name = "a linear layer",
      .inputs = { CSE_FLOATS(-1, 1, 9, 64), WORDS(70, 17) },
      .input_count = 2,
      CSE_WITH_INTEGERS(8, 64, 1),
      .tolerance = 3e-4 },
    { .name = "its gradient",
      .inputs = { CSE_FLOATS(-1, 1, 9, 70), WORDS(70, 17) },
      .input_count = 2,
      CSE_WITH_INTEGERS(8, 64, 0),
      .tolerance = 3e-4 },
    { .name = "one row of few blocks",
      .inputs = { CSE_FLOATS(-1, 1, 1, 96), WORDS(33, 15) },
      .input_count = 2,
      CSE_WITH_INTEGERS(3, 96, 1),
      .tolerance = 5e-4 },
    { .name = "rows that are filled up to words",
      .inputs = { CSE_FLOATS(-1, 1, 3, 32), WORDS(5, 9) },
      .input_count = 2,
      CSE_WITH_INTEGERS(8, 32, 1),
      .tolerance = 5e-4 },
    { .name = "large blocks",
      .inputs = { CSE_FLOATS(-1, 1, 40, 512), WORDS(6, 105) },
      .input_count = 2,
      CSE_WITH_INTEGERS(14, 512, 1),
      .tolerance = 2e-2,
      .skip_gradient = true },
    { .name = NULL },
};

CSE_SAMPLES(op, packed_linear, samples);
