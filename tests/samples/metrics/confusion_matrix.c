/* Samples of confusion_matrix, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/metrics.py. */
static const cse_metric_sample samples[] = {
    { .name = "plain",
      .settings = "{num_classes: 4}",
      .source = "the definition, by NumPy and loops over the samples",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .values = { 2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2 } },
                     { .dtype = CSE_INT32, .values = { 2, 2, 0, 2, 1, 2, 2, 0, 1, 1, 1, 0 } } },
      .values = { 0.5, 0.75, 0.5 } },
    { .name = "weighted",
      .settings = "{num_classes: 3}",
      .source = "the definition, by NumPy and loops over the samples",
      .argument_count = 3,
      .arguments = { { .dtype = CSE_INT32, .values = { 2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2 } },
                     { .dtype = CSE_INT32, .values = { 2, 2, 0, 2, 1, 2, 2, 0, 1, 1, 1, 0 } },
                     { .dtype = CSE_FLOAT32,
                       .values = { 1, 1, 0.5, 1.5, 0.75, 0.25, 1.25, 0.25, 1.5, 1, 0, 0 } } },
      .values = { 0.625, 0.7692307692, 0.5555555556 } },
    { .name = "fewer classes",
      .settings = "{num_classes: 2}",
      .source = "the definition, by NumPy and loops over the samples",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .values = { 2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2 } },
                     { .dtype = CSE_INT32, .values = { 2, 2, 0, 2, 1, 2, 2, 0, 1, 1, 1, 0 } } },
      .values = { 0, 1, 0.4 } },
    { .name = NULL },
};

CSE_SAMPLES(metric, confusion_matrix, samples);
