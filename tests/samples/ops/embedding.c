/* Samples of embedding, with independent values. */
#include "tests/samples/samples.h"

/* The op only copies values, so the tolerance is 0. */
static const cse_op_sample samples[] = {
    { .name = "tokens in time",
      .inputs = { CSE_FLOATS(-2, 2, 11, 7), CSE_INTEGERS(0, 11, 3, 5) },
      .input_count = 2 },
    { .name = "few rows, often",
      .inputs = { CSE_FLOATS(-2, 2, 3, 16), CSE_INTEGERS(0, 3, 20) },
      .input_count = 2 },
    { .name = NULL },
};

CSE_SAMPLES(op, embedding, samples);
