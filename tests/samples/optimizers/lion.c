/* Samples of lion, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/optimizers.py. */
static const cse_optimizer_sample samples[] = {
        { .settings = "{lr: 0.05}",
      .source = "the formula in float64",
      .parameters = {
          { 0.45, -1.05, 1.95, 0.3 },
          { 0.4, -1.1, 2.0, 0.35 },
          { 0.5, -1.1, 2.0, 0.25 },
          { 0.5, -1.1, 2.0, 0.25 },
      } },
    { .settings = "{lr: 0.05, betas: [0.7, 0.8], weight_decay: 0.2}",
      .source = "the formula in float64",
      .parameters = {
          { 0.445, -1.04, 1.93, 0.2975 },
          { 0.39055, -1.0796, 1.9607, 0.344525 },
          { 0.482278055, -1.05861596, 1.92118207, 0.337168952 },
          { 0.465254425, -1.016912217, 1.845469881, 0.3219031 },
      } },
    { .settings = "{betas: [0.9]}", .refusal = "two numbers" },
    { .settings = NULL },
};

CSE_SAMPLES(optimizer, lion, samples);
