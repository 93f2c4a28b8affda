/* Samples of exponential_lr, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/schedules.py. */
static const cse_schedule_sample samples[] = {
    { .settings = "{initial_learning_rate: 0.4, total_iters: 1, decay_rate: 0.9}",
      .source = "torch.optim.lr_scheduler.ExponentialLR in float64",
      .points = {
          { 0, 0.4 },
          { 1, 0.36 },
          { 3, 0.2916 },
          { 5, 0.236196 },
          { 7, 0.19131876 },
          { 10, 0.139471376 },
          { 14, 0.09150717 },
          { 23, 0.035451752 },
      } },
    { .settings = "{initial_learning_rate: 0.4, total_iters: 6, decay_rate: 0.5}",
      .source = "the formula in float64",
      .points = {
          { 0, 0.4 },
          { 1, 0.356359487 },
          { 3, 0.282842712 },
          { 5, 0.22449241 },
          { 7, 0.178179744 },
          { 10, 0.125992105 },
          { 14, 0.079370053 },
          { 23, 0.028061551 },
      } },
    { .settings = "{initial_learning_rate: 0.4, total_iters: 5, decay_rate: 0.5, staircase: true}",
      .source = "the formula in float64",
      .points = {
          { 0, 0.4 },
          { 1, 0.4 },
          { 3, 0.4 },
          { 5, 0.2 },
          { 7, 0.2 },
          { 10, 0.1 },
          { 14, 0.1 },
          { 23, 0.025 },
      } },
    { .settings = NULL },
};

CSE_SAMPLES(schedule, exponential_lr, samples);
