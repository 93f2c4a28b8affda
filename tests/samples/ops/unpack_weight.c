/* Samples of unpack_weight, with independent values. */
#include "tests/samples/samples.h"

/* As of packed_linear; values are computed alike, so the tolerance is 0. */
static const cse_op_sample samples[] = {
    { .name = "blocks of 32",
      .inputs = { CSE_INTEGERS(0x20002000, 0x20002400, 11, 17) },
      .input_count = 1,
      CSE_WITH_INTEGERS(8, 64) },
    { .name = "blocks of 256",
      .inputs = { CSE_INTEGERS(0x20002000, 0x20002400, 3, 53) },
      .input_count = 1,
      CSE_WITH_INTEGERS(14, 256) },
    { .name = NULL },
};

CSE_SAMPLES(op, unpack_weight, samples);
