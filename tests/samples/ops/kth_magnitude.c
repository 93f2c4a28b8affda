/* Samples of kth_magnitude, with independent values. */
#include "tests/samples/samples.h"

#define SCALAR(type, low, high)             \
    {                                       \
        { 0, { 0 } }, (type), (low), (high) \
    }
static const cse_op_sample samples[] = {
    { .name = "part of what a mask has",
      .inputs = { CSE_FLOATS(-2, 2, 5, 67), CSE_FLOATS(0, 1, 5, 67), SCALAR(CSE_FLOAT32, 0.2, 0.9),
                  SCALAR(CSE_INT32, 300, 400) },
      .input_count = 4,
      CSE_WITH_INTEGERS(0) },
    { .name = "a number of them",
      .inputs = { CSE_FLOATS(-2, 2, 67), CSE_FLOATS(0, 1, 67), SCALAR(CSE_FLOAT32, 1, 1),
                  SCALAR(CSE_INT32, 1, 67) },
      .input_count = 4,
      CSE_WITH_INTEGERS(0) },
    { .name = "all equal",
      .inputs = { CSE_FLOATS(0.5, 0.5, 67), CSE_FLOATS(1, 1, 67), SCALAR(CSE_FLOAT32, 1, 1),
                  SCALAR(CSE_INT32, 20, 21) },
      .input_count = 4,
      CSE_WITH_INTEGERS(0) },
    { .name = "not now",
      .inputs = { CSE_FLOATS(-2, 2, 67), CSE_FLOATS(0, 1, 67), SCALAR(CSE_FLOAT32, 1, 1),
                  SCALAR(CSE_INT32, -1, 0) },
      .input_count = 4,
      CSE_WITH_INTEGERS(0) },
    { .name = "outside",
      .inputs = { CSE_FLOATS(-2, 2, 5, 67), CSE_FLOATS(0, 1, 5, 67), SCALAR(CSE_FLOAT32, 1, 1),
                  SCALAR(CSE_INT32, 1, 100), CSE_FLOATS(-2, 2, 5, 67),
                  CSE_INTEGERS(0x3f800000, 0x3f900000, 3) },
      .input_count = 6,
      CSE_WITH_INTEGERS(0) },
    { .name = "outside, at random",
      .inputs = { CSE_INTEGERS(-2147483647, 2147483647, 2), CSE_FLOATS(0, 1, 5, 67),
                  SCALAR(CSE_FLOAT32, 1, 1), SCALAR(CSE_INT32, 1, 100), CSE_FLOATS(-2, 2, 5, 67),
                  CSE_INTEGERS(0x3f800000, 0x3f900000, 3) },
      .input_count = 6,
      CSE_WITH_INTEGERS(1) },
    { .name = NULL },
};

CSE_SAMPLES(op, kth_magnitude, samples);
