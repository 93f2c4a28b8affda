/* Samples of packed_embedding, with independent values. */
#include "tests/samples/samples.h"

/* As of packed_linear; values are computed alike, so the tolerance is 0. The last integer is the
 * type of the result, float32. */
static const cse_op_sample samples[] = {
    { .name = "tokens in time",
      .inputs = { CSE_INTEGERS(0x20002000, 0x20002400, 11, 17), CSE_INTEGERS(0, 11, 3, 5) },
      .input_count = 2,
      CSE_WITH_INTEGERS(8, 64, CSE_FLOAT32) },
    { .name = "outside of the table",
      .inputs = { CSE_INTEGERS(0x20002000, 0x20002400, 11, 5), CSE_INTEGERS(-3, 14, 20) },
      .input_count = 2,
      CSE_WITH_INTEGERS(3, 32, CSE_FLOAT32),
      .skip_gradient = true },
    { .name = NULL },
};

CSE_SAMPLES(op, packed_embedding, samples);
