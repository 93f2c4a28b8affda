/* Samples of cosine_annealing_lr, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/schedules.py. */
static const cse_schedule_sample samples[] = {
    { .settings = "{initial_learning_rate: 0.4, T_max: 7, eta_min: 0.02}",
      .source = "torch.optim.lr_scheduler.CosineAnnealingLR in float64",
      .points = {
          { 0, 0.4 },
          { 1, 0.381184085 },
          { 3, 0.252278977 },
          { 6, 0.038815915 },
          { 7, 0.02 },
          { 8, 0.038815915 },
          { 14, 0.4 },
          { 23, 0.091536938 },
      } },
    { .settings = "{initial_learning_rate: 0.4, T_max: 7, eta_min: 0.02}",
      .source = "the formula in float64",
      .points = {
          { 1000, 0.038815915 },
          { 20001, 0.091536938 },
          { 300002, 0.167721023 },
          { 4000003, 0.02 },
          { 50000004, 0.328463062 },
          { 600000005, 0.252278977 },
          { 2000000006, 0.167721023 },
          { 2147483640, 0.038815915 },
      } },
    { .settings = NULL },
};

CSE_SAMPLES(schedule, cosine_annealing_lr, samples);
