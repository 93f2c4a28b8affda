/* Samples of cosine_annealing_warm_restarts, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/schedules.py. */
static const cse_schedule_sample samples[] = {
    { .settings = "{initial_learning_rate: 0.4, T_0: 6, eta_min: 0.02}",
      .source = "torch.optim.lr_scheduler.CosineAnnealingWarmRestarts in float64",
      .points = {
          { 0, 0.4 },
          { 1, 0.374544827 },
          { 5, 0.045455173 },
          { 6, 0.4 },
          { 8, 0.305 },
          { 12, 0.4 },
          { 17, 0.045455173 },
          { 23, 0.045455173 },
      } },
    { .settings = "{initial_learning_rate: 0.4, T_0: 3, T_mult: 2}",
      .source = "torch.optim.lr_scheduler.CosineAnnealingWarmRestarts in float64",
      .points = {
          { 0, 0.4 },
          { 2, 0.1 },
          { 3, 0.4 },
          { 8, 0.026794919 },
          { 9, 0.4 },
          { 14, 0.251763809 },
          { 20, 0.006814835 },
          { 21, 0.4 },
      } },
    { .settings = "{initial_learning_rate: 0.1, T_0: 5, T_mult: 0}",
 .refusal = "out of range" },
    { .settings = NULL },
};

CSE_SAMPLES(schedule, cosine_annealing_warm_restarts, samples);
