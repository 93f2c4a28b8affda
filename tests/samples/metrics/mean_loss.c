/* Samples of mean_loss, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/metrics.py. */
static const cse_metric_sample samples[] = {
    { .name = "plain",
      .source = "NumPy: sums over the samples",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .values = { 2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2 } },
                     { .dtype = CSE_FLOAT32,
                       .values = { 2.375, 0.5, 0, 1.625, 0, 0.75, 1.1875, 2.125, 0.1875, 1.625,
                                   1.3125, 0.3125 } } },
      .values = { 1.125, 1.0703125, 1 } },
    { .name = "weighted",
      .source = "NumPy: sums over the samples",
      .argument_count = 3,
      .arguments = { { .dtype = CSE_INT32, .values = { 2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2 } },
                     { .dtype = CSE_FLOAT32,
                       .values = { 2.375, 0.5, 0, 2.4375, 0, 0.1875, 1.484375, 0.53125, 0.28125,
                                   1.625, 0, 0 } },
                     { .dtype = CSE_FLOAT32,
                       .values = { 1, 1, 0.5, 1.5, 0.75, 0.25, 1.25, 0.25, 1.5, 1, 0, 0 } } },
      .values = { 1.328125, 1.15625, 1.046875 } },
    { .name = "without weight at first",
      .source = "the definition: 0, then (1 + 2 + 3 + 4) / 4",
      .argument_count = 3,
      .arguments = { { .dtype = CSE_INT32, .values = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } },
                     { .dtype = CSE_FLOAT32, .values = { 0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0 } },
                     { .dtype = CSE_FLOAT32, .values = { 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0 } } },
      .values = { 0, 2.5, 2.5 } },
    { .name = NULL },
};

CSE_SAMPLES(metric, mean_loss, samples);
