/* Samples of linear_lr, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/optimizers.py. */
static const cse_schedule_sample samples[] = {
    { .settings = "{initial_learning_rate: 0.4, end_learning_rate: 0.1, total_iters: 5, cycle: "
                  "true}",
      .source = "the formula in float64",
      .points = {
          { 0, 0.4 },
          { 1, 0.34 },
          { 3, 0.22 },
          { 5, 0.25 },
          { 7, 0.19 },
          { 10, 0.2 },
          { 14, 0.12 },
          { 23, 0.124 },
      } },
    { .settings = "{initial_learning_rate: 0.2, end_learning_rate: 0.05, total_iters: 12}",
      .source = "torch.optim.lr_scheduler.LinearLR, base 0.2, factors 1 and 0.25, in float64",
      .points = { { 0, 0.2 },
                  { 1, 0.1875 },
                  { 3, 0.1625 },
                  { 6, 0.125 },
                  { 11, 0.0625 },
                  { 12, 0.05 },
                  { 13, 0.05 },
                  { 23, 0.05 } } },
    { .settings = "{initial_learning_rate: 1}", .refusal = "end_learning_rate" },
    { .settings = "{initial_learning_rate: 1, end_learning_rate: 0, total_iters: 0}",
      .refusal = "out of range" },
    { .settings = NULL },
};

CSE_SAMPLES(schedule, linear_lr, samples);
