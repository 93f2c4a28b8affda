/* Samples of step_lr, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/schedules.py. */
static const cse_schedule_sample samples[] = {
    { .settings = "{initial_learning_rate: 0.4, step_size: 5, gamma: 0.6}",
      .source = "torch.optim.lr_scheduler.StepLR in float64",
      .points = {
          { 0, 0.4 },
          { 4, 0.4 },
          { 5, 0.24 },
          { 9, 0.24 },
          { 10, 0.144 },
          { 14, 0.144 },
          { 15, 0.0864 },
          { 23, 0.05184 },
      } },
    { .settings = NULL },
};

CSE_SAMPLES(schedule, step_lr, samples);
