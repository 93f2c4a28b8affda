/* Samples of multiplicative_lr, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/schedules.py. */
static const cse_schedule_sample samples[] = {
    { .settings = "{initial_learning_rate: 0.4, coefficient: 0.95}",
      .source = "torch.optim.lr_scheduler.MultiplicativeLR in float64",
      .points = {
          { 0, 0.4 },
          { 1, 0.38 },
          { 3, 0.34295 },
          { 5, 0.309512375 },
          { 7, 0.279334918 },
          { 10, 0.239494776 },
          { 14, 0.195069992 },
          { 23, 0.122942747 },
      } },
    { .settings = NULL },
};

CSE_SAMPLES(schedule, multiplicative_lr, samples);
