/* Samples of scaled_dot_product_attention, with independent values. */
#include "engine/graph/trace/attention.h"
#include "tests/samples/samples.h"

/* Sums of at most 33 terms below 1, twice, each within 33^2 * 2^-24 (6.5e-5) at the very most; the
 * weights sum to 1, which keeps the second one near its terms' size. Dropout multiplies by 4/3. */
#define OPTIONS(causal, head)                                           \
    .attributes = { .integer_count = CSE_ATTENTION_RESULT,              \
                    .integers = { 3735928559, 3 * 5 * 5, (causal) },    \
                    .number_count = CSE_ATTENTION_NUMBERS,              \
                    .numbers = { 0.25, 4.0 / 3, 1 / (double)(head) } }, \
    .tolerance = 6.5e-5

static const cse_op_sample samples[] = {
    { .name = "every key",
      .inputs = { CSE_FLOATS(-2, 2, 2, 3, 5, 4), CSE_FLOATS(-2, 2, 2, 3, 7, 4),
                  CSE_FLOATS(-1, 1, 2, 3, 7, 6) },
      .input_count = 3,
      OPTIONS(0, 2) },
    { .name = "causal",
      .inputs = { CSE_FLOATS(-1, 1, 2, 2, 33, 16), CSE_FLOATS(-1, 1, 2, 2, 33, 16),
                  CSE_FLOATS(-1, 1, 2, 2, 33, 16) },
      .input_count = 3,
      .skip_gradient = true, /* too many elements; a smaller sample below covers the gradient */
      OPTIONS(1, 4) },
    { .name = "causal, small",
      .inputs = { CSE_FLOATS(-2, 2, 1, 2, 5, 3), CSE_FLOATS(-2, 2, 1, 2, 5, 3),
                  CSE_FLOATS(-1, 1, 1, 2, 5, 3) },
      .input_count = 3,
      OPTIONS(1, 1) },
    { .name = "causal, with dropout",
      .inputs = { CSE_FLOATS(-2, 2, 2, 3, 5, 4), CSE_FLOATS(-2, 2, 2, 3, 5, 4),
                  CSE_FLOATS(-1, 1, 2, 3, 5, 4), CSE_INTEGERS(0, 256, 2, 3, 5, 5) },
      .input_count = 4,
      OPTIONS(1, 2) },
    { .name = "keys that some queries see, and queries that see none",
      .inputs = { CSE_FLOATS(-2, 2, 2, 3, 5, 4), CSE_FLOATS(-2, 2, 2, 3, 7, 4),
                  CSE_FLOATS(-1, 1, 2, 3, 7, 6), CSE_INTEGERS(0, 6, 2, 2, 7) },
      .input_count = 4,
      OPTIONS(0, 2) },
    { .name = "the same keys for all samples, causal",
      .inputs = { CSE_FLOATS(-2, 2, 2, 2, 5, 3), CSE_FLOATS(-2, 2, 2, 2, 5, 3),
                  CSE_FLOATS(-1, 1, 2, 2, 5, 3), CSE_INTEGERS(0, 6, 1, 2, 5) },
      .input_count = 4,
      OPTIONS(1, 1) },
    { .name = NULL },
};

CSE_SAMPLES(op, scaled_dot_product_attention, samples);
