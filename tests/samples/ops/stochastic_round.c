/* Samples of stochastic_round, with independent values. */
#include "tests/samples/samples.h"

#define SAMPLE(title, mantissa, bias, most)                                                       \
    {                                                                                             \
        .name = title,                                                                            \
        .inputs = { CSE_FLOATS(-most, most, 6, 67), CSE_INTEGERS(-2147483647, 2147483647, 6, 67), \
                    CSE_INTEGERS(-2147483647, 2147483647, 6, 67) },                               \
        .input_count = 3, .attributes = { .integer_count = 2, .integers = { mantissa, bias } },   \
        .skip_gradient = true                                                                     \
    }

static const cse_op_sample samples[] = {
    SAMPLE("to bfloat16", 7, 127, 3),
    SAMPLE("to float16", 10, 15, 3),
    SAMPLE("to cbfloat16", 9, 31, 3),
    SAMPLE("small ones to float16", 10, 15, 1e-5),
    { .name = NULL },
};

CSE_SAMPLES(op, stochastic_round, samples);
