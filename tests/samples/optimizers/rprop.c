/* Samples of rprop, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/optimizers.py. */
static const cse_optimizer_sample samples[] = {
        { .settings = "{lr: 0.05}",
      .source = "torch.optim.Rprop in float64",
      .parameters = {
          { 0.45, -1.05, 1.95, 0.3 },
          { 0.39, -1.11, 1.95, 0.36 },
          { 0.42, -1.14, 1.975, 0.33 },
          { 0.4125, -1.158, 1.94875, 0.3375 },
      } },
    { .settings = "{lr: 0.05, etas: [0.3, 1.5], step_sizes: [0.02, 0.1]}",
      .source = "torch.optim.Rprop in float64",
      .parameters = {
          { 0.45, -1.05, 1.95, 0.3 },
          { 0.375, -1.125, 1.95, 0.375 },
          { 0.3975, -1.1475, 1.97, 0.3525 },
          { 0.3975, -1.16125, 1.9, 0.3525 },
      } },
    { .settings = "{lr: 0.05, maximize: true}",
      .source = "torch.optim.Rprop in float64",
      .parameters = {
          { 0.55, -0.95, 2.05, 0.2 },
          { 0.61, -0.89, 2.05, 0.14 },
          { 0.58, -0.86, 2.025, 0.17 },
          { 0.5875, -0.842, 2.05125, 0.1625 },
      } },
    { .settings = "{etas: [1.5, 2]}", .refusal = "between 0 and 1" },
    { .settings = "{step_sizes: [0, 50]}", .refusal = "above 0" },
    { .settings = NULL },
};

CSE_SAMPLES(optimizer, rprop, samples);
