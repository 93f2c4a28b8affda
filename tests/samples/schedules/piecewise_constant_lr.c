/* Samples of piecewise_constant_lr, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/schedules.py. */
static const cse_schedule_sample samples[] = {
    { .settings = "{learning_rates: [0.5, 0.25, 0.0], milestones: [3, 10]}",
      .source = "the formula in float64",
      .points = {
          { 0, 0.5 },
          { 2, 0.5 },
          { 3, 0.25 },
          { 4, 0.25 },
          { 9, 0.25 },
          { 10, 0.0 },
          { 11, 0.0 },
          { 23, 0.0 },
      } },
    { .settings = "{learning_rates: [0.1], milestones: [2]}",
 .refusal = "1 milestones need 2" },
    { .settings = "{learning_rates: [0.1, 0.2, 0.3], milestones: [5, 2]}",
 .refusal = "must be greater" },
    { .settings = NULL },
};

CSE_SAMPLES(schedule, piecewise_constant_lr, samples);
