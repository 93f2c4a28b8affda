/* Samples of mean, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/metrics.py. */
static const cse_metric_sample samples[] = {
    { .name = "of a matrix",
      .source = "numpy.mean",
      .argument_count = 1,
      .arguments = { { .dtype = CSE_FLOAT32,
                       .columns = 2,
                       .values = { 0.25,    -2.3125, -1.625,  0.6875, 3.5625, 0.375,
                                   2.5,     3.1875,  2.625,   1.375,  0.25,   0.6875,
                                   -0.875,  0.5625,  -0.1875, -1,     3.6875, -2.4375,
                                   -1.9375, -1.3125, 3.5,     1.8125, 3,      -1.25 } } },
      .values = { 0.828125, 0.62890625, 0.6302083333 } },
    { .name = "weighted",
      .source = "numpy.average",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_FLOAT32,
                       .values = { 0.25, -1.625, 3.5625, 2.5, 2.625, 0.25, -0.875, -0.1875, 3.6875,
                                   -1.9375, 3.5, 3 } },
                     { .dtype = CSE_FLOAT32,
                       .values = { 1, 1, 0.5, 1.5, 0.75, 0.25, 1.25, 0.25, 1.5, 1, 0, 0 } } },
      .values = { 1.0390625, 0.7764423077, 0.9600694444 } },
    { .name = "without weight at first",
      .source = "the definition: 0, then (1 + 2 + 3 + 4) / 4",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_FLOAT32, .values = { 3, 1, 4, 1, 1, 2, 3, 4, 5, 6, 7, 8 } },
                     { .dtype = CSE_FLOAT32, .values = { 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0 } } },
      .values = { 0, 2.5, 2.5 } },
    { .name = NULL },
};

CSE_SAMPLES(metric, mean, samples);
