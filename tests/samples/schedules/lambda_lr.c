/* Samples of lambda_lr, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/schedules.py. */
static const cse_schedule_sample samples[] = {
    { .settings = "{initial_learning_rate: 0.4}",
      .source = "torch.optim.lr_scheduler.LambdaLR in float64",
      .points = {
          { 0, 0.0 },
          { 1, 0.012666667 },
          { 3, 0.034295 },
          { 5, 0.051585396 },
          { 7, 0.065178148 },
          { 10, 0.079831592 },
          { 14, 0.091032663 },
          { 23, 0.094256106 },
      } },
    { .settings = NULL },
};

CSE_SAMPLES(schedule, lambda_lr, samples);
