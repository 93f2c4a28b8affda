/* Samples of auc, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/metrics.py. */
#define CLASSES 1, 0, 1, 1, 1, 0, 1, 1, 0, 0, 0, 1
#define PROBABILITIES                                                                         \
    0.078125, 0.203125, 0.359375, 0.734375, 0.046875, 0.390625, 0.421875, 0.484375, 0.703125, \
        0.265625, 0.109375, 0.140625

static const cse_metric_sample samples[] = {
    { .name = "pairs in the right order",
      .source = "the share of pairs in the right order, by loops",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .values = { CLASSES } },
                     { .dtype = CSE_FLOAT32, .values = { PROBABILITIES } } },
      .values = { 0.6666666667, 0.5833333333, 0.4857142857 } },
    { .name = "weighted",
      .source = "the definition, by loops over thresholds and samples",
      .argument_count = 3,
      .arguments = { { .dtype = CSE_INT32, .values = { CLASSES } },
                     { .dtype = CSE_FLOAT32, .values = { PROBABILITIES } },
                     { .dtype = CSE_FLOAT32,
                       .values = { 1, 1, 0.5, 1.5, 0.75, 0.25, 1.25, 0.25, 1.5, 1, 0, 0 } } },
      .values = { 0.6666666667, 0.6476190476, 0.5079365079 } },
    { .name = "ROC, minoring",
      .settings = "{num_thresholds: 7, curve: ROC, summation_method: minoring}",
      .source = "the definition, by loops over thresholds and samples",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .values = { CLASSES } },
                     { .dtype = CSE_FLOAT32, .values = { PROBABILITIES } } },
      .values = { 0.6666666667, 0.4166666667, 0.3714285714 } },
    { .name = "PR, interpolation",
      .settings = "{num_thresholds: 7, curve: PR, summation_method: interpolation}",
      .source = "the definition, by loops over thresholds and samples",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .values = { CLASSES } },
                     { .dtype = CSE_FLOAT32, .values = { PROBABILITIES } } },
      .values = { 0.9041059758, 0.8294009106, 0.5685461042 } },
    { .name = "PR, majoring",
      .settings = "{num_thresholds: 7, curve: PR, summation_method: majoring}",
      .source = "the definition, by loops over thresholds and samples",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .values = { CLASSES } },
                     { .dtype = CSE_FLOAT32, .values = { PROBABILITIES } } },
      .values = { 0.9166666667, 0.9166666667, 0.6071428571 } },
    { .name = "refused", .settings = "{num_thresholds: 1}", .refusal = "num_thresholds" },
    { .name = NULL },
};

CSE_SAMPLES(metric, auc, samples);
