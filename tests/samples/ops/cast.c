/* Samples of cast, with independent values. */
#include "tests/samples/samples.h"

#define TO(type) .input_count = 1, .attributes = { .integer_count = 1, .integers = { type } }

static const cse_op_sample samples[] = {
    { .name = "int32 to float32",
      .inputs = { CSE_INTEGERS(-9, 9, 3, 67) },
      TO(CSE_FLOAT32),
      .skip_gradient = true },
    { .name = "float32 to int32",
      .inputs = { CSE_FLOATS(-9, 9, 3, 67) },
      TO(CSE_INT32),
      .skip_gradient = true },
    { .name = "bool to float32",
      .inputs = { CSE_BOOLS(19) },
      TO(CSE_FLOAT32),
      .skip_gradient = true },
    { .name = "int32 to bool",
      .inputs = { CSE_INTEGERS(-1, 2, 19) },
      TO(CSE_BOOL),
      .skip_gradient = true },
    { .name = NULL },
};

CSE_SAMPLES(op, cast, samples);
