/* Samples of inverse_exponential_time_decay_lr, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/schedules.py. */
static const cse_schedule_sample samples[] = {
    { .settings = "{initial_learning_rate: 0.4, step_exponent: 1.5, total_iters: 10, "
                  "decay_rate: 0.7}",
      .source = "the formula in float64",
      .points = {
          { 0, 0.4 },
          { 1, 0.373831776 },
          { 3, 0.293313048 },
          { 5, 0.224388344 },
          { 7, 0.174184306 },
          { 10, 0.124471217 },
          { 14, 0.085711392 },
          { 23, 0.045864781 },
      } },
    { .settings = "{initial_learning_rate: 0.4, step_exponent: 2, total_iters: 8, decay_rate: "
                  "0.1, staircase: true}",
      .source = "the formula in float64",
      .points = {
          { 0, 0.4 },
          { 1, 0.4 },
          { 3, 0.363636364 },
          { 5, 0.307692308 },
          { 7, 0.25 },
          { 10, 0.181818182 },
          { 14, 0.117647059 },
          { 23, 0.052631579 },
      } },
    { .settings = NULL },
};

CSE_SAMPLES(schedule, inverse_exponential_time_decay_lr, samples);
