/* Samples of elementwise ops. */
#include "tests/samples/samples.h"

/* The prelude's functions of generated code differ from libm's by a few units in the last place. */
#define PRELUDE 1e-6

/* One sample of floats in [low, high], with rows of 67 so that vector loops of any width have a
 * remainder; `bound` is its tolerance. */
#define UNARY(low, high, bound)                       \
    (const cse_op_sample[])                           \
    {                                                 \
        { .name = "a row of 67",                      \
          .inputs = { CSE_FLOATS(low, high, 3, 67) }, \
          .input_count = 1,                           \
          .tolerance = (bound) },                     \
            { .name = NULL },                         \
    }
#define BINARY(low0, high0, low1, high1, bound)                                         \
    (const cse_op_sample[])                                                             \
    {                                                                                   \
        { .name = "a row of 67",                                                        \
          .inputs = { CSE_FLOATS(low0, high0, 3, 67), CSE_FLOATS(low1, high1, 3, 67) }, \
          .input_count = 2,                                                             \
          .tolerance = (bound) },                                                       \
            { .name = NULL },                                                           \
    }

static const cse_op_sample samples_of_numbers[] = {
    { .name = "a row of 67",
      .inputs = { CSE_FLOATS(-2, 2, 3, 67), CSE_FLOATS(-2, 2, 3, 67) },
      .input_count = 2 },
    { .name = "int32",
      .inputs = { CSE_INTEGERS(-4, 5, 5, 3), CSE_INTEGERS(-4, 5, 5, 3) },
      .input_count = 2,
      .skip_gradient = true },
    { .name = NULL },
};

static const cse_op_sample samples_of_logic[] = {
    { .name = "a row of 67", .inputs = { CSE_BOOLS(3, 67), CSE_BOOLS(3, 67) }, .input_count = 2 },
    { .name = NULL },
};

static const cse_op_sample samples_of_extrema[] = {
    { .name = "a row of 67",
      .inputs = { CSE_FLOATS(-2, 0, 3, 67), CSE_FLOATS(0, 2, 3, 67) },
      .input_count = 2 },
    { .name = "the other way",
      .inputs = { CSE_FLOATS(0, 2, 3, 67), CSE_FLOATS(-2, 0, 3, 67) },
      .input_count = 2 },
    { .name = "mixed",
      .inputs = { CSE_FLOATS(-2, 2, 3, 67), CSE_FLOATS(-2, 2, 3, 67) },
      .input_count = 2,
      .skip_gradient = true },
    { .name = "int32",
      .inputs = { CSE_INTEGERS(-4, 5, 5, 3), CSE_INTEGERS(-4, 5, 5, 3) },
      .input_count = 2,
      .skip_gradient = true },
    { .name = NULL },
};

static const cse_op_sample samples_around_zero[] = {
    { .name = "a row of 67", .inputs = { CSE_FLOATS(0.1, 2, 3, 67) }, .input_count = 1 },
    { .name = "negative", .inputs = { CSE_FLOATS(-2, -0.1, 3, 67) }, .input_count = 1 },
    { .name = "both signs",
      .inputs = { CSE_FLOATS(-2, 2, 3, 67) },
      .input_count = 1,
      .skip_gradient = true },
    { .name = NULL },
};

CSE_SAMPLES(op, abs, samples_around_zero);
CSE_SAMPLES(op, add, samples_of_numbers);
CSE_SAMPLES(op, cos, UNARY(-2, 2, PRELUDE));
CSE_SAMPLES(op, div, BINARY(-2, 2, 0.5, 2, 0));
CSE_SAMPLES(op, equal, samples_of_numbers);
CSE_SAMPLES(op, erf, UNARY(-2, 2, PRELUDE));
CSE_SAMPLES(op, exp, UNARY(-2, 2, PRELUDE));
CSE_SAMPLES(op, expm1, UNARY(-4, 2, PRELUDE));
CSE_SAMPLES(op, greater, samples_of_numbers);
CSE_SAMPLES(op, greater_equal, samples_of_numbers);
CSE_SAMPLES(op, less, samples_of_numbers);
CSE_SAMPLES(op, less_equal, samples_of_numbers);
CSE_SAMPLES(op, log, UNARY(0.25, 4, PRELUDE));
CSE_SAMPLES(op, log1p, UNARY(-0.9, 4, PRELUDE));
CSE_SAMPLES(op, logical_and, samples_of_logic);
CSE_SAMPLES(op, logical_or, samples_of_logic);
CSE_SAMPLES(op, maximum, samples_of_extrema);
CSE_SAMPLES(op, minimum, samples_of_extrema);
CSE_SAMPLES(op, mul, samples_of_numbers);
CSE_SAMPLES(op, not_equal, samples_of_numbers);
CSE_SAMPLES(op, pow, BINARY(0.5, 2, -2, 2, 2e-6));
CSE_SAMPLES(op, reciprocal, UNARY(0.25, 4, 0));
CSE_SAMPLES(op, relu, samples_around_zero);
CSE_SAMPLES(op, rsqrt, UNARY(0.25, 4, PRELUDE));
CSE_SAMPLES(op, sigmoid, UNARY(-2, 2, PRELUDE));
CSE_SAMPLES(op, silu, UNARY(-2, 2, PRELUDE));
CSE_SAMPLES(op, silu_gradient, BINARY(-2, 2, -1, 1, 2e-6));
CSE_SAMPLES(op, sin, UNARY(-2, 2, PRELUDE));
CSE_SAMPLES(op, softplus, UNARY(-12, 12, PRELUDE));
CSE_SAMPLES(op, sqrt, UNARY(0.25, 4, PRELUDE));
CSE_SAMPLES(op, square, UNARY(-2, 2, 0));
CSE_SAMPLES(op, stop_gradient, UNARY(-2, 2, 0));
CSE_SAMPLES(op, sub, samples_of_numbers);
CSE_SAMPLES(op, tanh, UNARY(-2, 2, PRELUDE));
