/* Samples of multi_step_lr, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/schedules.py. */
static const cse_schedule_sample samples[] = {
    { .settings = "{initial_learning_rate: 0.4, gamma: 0.3, milestones: [3, 7, 8]}",
      .source = "torch.optim.lr_scheduler.MultiStepLR in float64",
      .points = {
          { 0, 0.4 },
          { 2, 0.4 },
          { 3, 0.12 },
          { 6, 0.12 },
          { 7, 0.036 },
          { 8, 0.0108 },
          { 9, 0.0108 },
          { 23, 0.0108 },
      } },
    { .settings = "{initial_learning_rate: 0.1, gamma: 0.1, milestones: [5, 5]}",
 .refusal = "must be greater" },
    { .settings = NULL },
};

CSE_SAMPLES(schedule, multi_step_lr, samples);
