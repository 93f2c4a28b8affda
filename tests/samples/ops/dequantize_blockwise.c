/* Samples of dequantize_blockwise, with independent values. */
#include "tests/samples/samples.h"

/* Codes and magnitudes are bits of integers near that of 1.0. */
static const cse_op_sample samples[] = {
    { .name = "with signs",
      .inputs = { CSE_INTEGERS(0x3f000000, 0x3fffffff, 3, 65) },
      .input_count = 1,
      CSE_WITH_INTEGERS(1, 7, 91) },
    { .name = "never negative",
      .inputs = { CSE_INTEGERS(0x3f000000, 0x3fffffff, 5, 65) },
      .input_count = 1,
      CSE_WITH_INTEGERS(0, 1030) },
    { .name = NULL },
};

CSE_SAMPLES(op, dequantize_blockwise, samples);
