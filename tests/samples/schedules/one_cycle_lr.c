/* Samples of one_cycle_lr, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/schedules.py. */
static const cse_schedule_sample samples[] = {
    { .settings = "{initial_learning_rate: 0.02, max_lr: 0.5, total_steps: 24}",
      .source = "torch.optim.lr_scheduler.OneCycleLR in float64",
      .points = {
          { 0, 0.02 },
          { 1, 0.050156812 },
          { 6, 0.498768638 },
          { 7, 0.497207718 },
          { 8, 0.485970889 },
          { 15, 0.231318551 },
          { 22, 0.004360364 },
          { 23, 2e-06 },
      } },
    { .settings = "{initial_learning_rate: 0.05, max_lr: 0.5, total_steps: 24, three_phase: "
                  "true, final_div_factor: 10, anneal_strategy: linear}",
      .source = "torch.optim.lr_scheduler.OneCycleLR in float64",
      .points = {
          { 0, 0.05 },
          { 1, 0.122580645 },
          { 6, 0.485483871 },
          { 7, 0.441935484 },
          { 8, 0.369354839 },
          { 15, 0.038962264 },
          { 22, 0.009245283 },
          { 23, 0.005 },
      } },
    { .settings = "{initial_learning_rate: 0.1, max_lr: 1, total_steps: 10, pct_start: 0.1}",
 .refusal = "leaves phase 1 of 2" },
    { .settings = "{initial_learning_rate: 0.1, max_lr: 1, pct_start: 0.9, three_phase: true}",
 .refusal = "leaves phase 3 of 3" },
    { .settings = NULL },
};

CSE_SAMPLES(schedule, one_cycle_lr, samples);
