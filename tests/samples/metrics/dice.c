/* Samples of dice, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/metrics.py. */
static const cse_metric_sample samples[] = {
    { .name = "plain",
      .settings = "{num_classes: 4}",
      .source = "the definition, by NumPy and loops over the samples",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .values = { 2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2 } },
                     { .dtype = CSE_INT32, .values = { 2, 2, 0, 2, 1, 2, 2, 0, 1, 1, 1, 0 } } },
      .values = { 0.2222222222, 0.7111111111, 0.4487734488 } },
    { .name = "weighted",
      .settings = "{num_classes: 4}",
      .source = "the definition, by NumPy and loops over the samples",
      .argument_count = 3,
      .arguments = { { .dtype = CSE_INT32, .values = { 2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2 } },
                     { .dtype = CSE_INT32, .values = { 2, 2, 0, 2, 1, 2, 2, 0, 1, 1, 1, 0 } },
                     { .dtype = CSE_FLOAT32,
                       .values = { 1, 1, 0.5, 1.5, 0.75, 0.25, 1.25, 0.25, 1.5, 1, 0, 0 } } },
      .values = { 0.2564102564, 0.6473684211, 0.428320802 } },
    { .name = "plain",
      .settings = "{num_classes: 4, ignore_classes: [0]}",
      .source = "the definition, by NumPy and loops over the samples",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .values = { 2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2 } },
                     { .dtype = CSE_INT32, .values = { 2, 2, 0, 2, 1, 2, 2, 0, 1, 1, 1, 0 } } },
      .values = { 0.3333333333, 0.7333333333, 0.5303030303 } },
    { .name = "weighted",
      .settings = "{num_classes: 4, ignore_classes: [0]}",
      .source = "the definition, by NumPy and loops over the samples",
      .argument_count = 3,
      .arguments = { { .dtype = CSE_INT32, .values = { 2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2 } },
                     { .dtype = CSE_INT32, .values = { 2, 2, 0, 2, 1, 2, 2, 0, 1, 1, 1, 0 } },
                     { .dtype = CSE_FLOAT32,
                       .values = { 1, 1, 0.5, 1.5, 0.75, 0.25, 1.25, 0.25, 1.5, 1, 0, 0 } } },
      .values = { 0.3846153846, 0.7210526316, 0.5710526316 } },
    { .name = "refused",
      .settings = "{num_classes: 2, ignore_classes: [2]}",
      .refusal = "none of the classes" },
    { .name = NULL },
};

CSE_SAMPLES(metric, dice, samples);
