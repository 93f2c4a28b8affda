/* Samples of quantize_blockwise, with independent values. */
#include "tests/samples/samples.h"

/* Compiled code and reference use one function, so the bits are equal. */
static const cse_op_sample samples[] = {
    { .name = "with signs",
      .inputs = { CSE_FLOATS(-3, 3, 7, 91) },
      .input_count = 1,
      CSE_WITH_INTEGERS(1),
      .skip_gradient = true },
    { .name = "never negative",
      .inputs = { CSE_FLOATS(0, 1e-3, 1030) },
      .input_count = 1,
      CSE_WITH_INTEGERS(0),
      .skip_gradient = true },
    { .name = "one block, not full",
      .inputs = { CSE_FLOATS(-1e-6, 1e-6, 5) },
      .input_count = 1,
      CSE_WITH_INTEGERS(1),
      .skip_gradient = true },
    { .name = NULL },
};

CSE_SAMPLES(op, quantize_blockwise, samples);
