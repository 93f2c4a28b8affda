/* Samples of accuracy, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/metrics.py. */
static const cse_metric_sample samples[] = {
    { .name = "plain",
      .source = "numpy.mean(labels == predictions)",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .values = { 2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2 } },
                     { .dtype = CSE_INT32, .values = { 2, 2, 0, 2, 1, 2, 2, 0, 1, 1, 1, 0 } } },
      .values = { 0.5, 0.75, 0.5 } },
    { .name = "weighted",
      .source = "NumPy: weights of the hits, over the number of weights above 0",
      .argument_count = 3,
      .arguments = { { .dtype = CSE_INT32, .values = { 2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2 } },
                     { .dtype = CSE_INT32, .values = { 2, 2, 0, 2, 1, 2, 2, 0, 1, 1, 1, 0 } },
                     { .dtype = CSE_FLOAT32,
                       .values = { 1, 1, 0.5, 1.5, 0.75, 0.25, 1.25, 0.25, 1.5, 1, 0, 0 } } },
      .values = { 0.625, 0.625, 0.5 } },
    { .name = "without weight at first",
      .source = "the definition: 0, then 4 of 4",
      .argument_count = 3,
      .arguments = { { .dtype = CSE_INT32, .values = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } },
                     { .dtype = CSE_INT32, .values = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } },
                     { .dtype = CSE_FLOAT32, .values = { 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0 } } },
      .values = { 0, 1, 1 } },
    { .name = NULL },
};

CSE_SAMPLES(metric, accuracy, samples);
