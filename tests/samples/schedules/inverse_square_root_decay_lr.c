/* Samples of inverse_square_root_decay_lr, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/schedules.py. */
static const cse_schedule_sample samples[] = {
    { .settings = "{initial_learning_rate: 0.5, scale: 0.8, warmup_steps: 5}",
      .source = "the formula in float64",
      .points = {
          { 0, 0.178885438 },
          { 1, 0.178885438 },
          { 3, 0.178885438 },
          { 5, 0.178885438 },
          { 7, 0.151185789 },
          { 10, 0.126491106 },
          { 14, 0.106904497 },
          { 23, 0.083405766 },
      } },
    { .settings = "{scale: 0.4}",
      .source = "the formula in float64",
      .points = {
          { 0, 0.4 },
          { 1, 0.4 },
          { 2, 0.282842712 },
          { 4, 0.2 },
          { 9, 0.133333333 },
          { 100, 0.04 },
          { 10000, 0.004 },
          { 1000000, 0.0004 },
      } },
    { .settings = NULL },
};

CSE_SAMPLES(schedule, inverse_square_root_decay_lr, samples);
