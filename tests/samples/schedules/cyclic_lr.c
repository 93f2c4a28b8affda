/* Samples of cyclic_lr, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/schedules.py. */
static const cse_schedule_sample samples[] = {
    { .settings = "{base_lr: 0.1, max_lr: 0.4, step_size_up: 4}",
      .source = "torch.optim.lr_scheduler.CyclicLR in float64",
      .points = {
          { 0, 0.1 },
          { 1, 0.175 },
          { 3, 0.325 },
          { 5, 0.325 },
          { 7, 0.175 },
          { 10, 0.25 },
          { 14, 0.25 },
          { 23, 0.175 },
      } },
    { .settings = "{base_lr: 0.1, max_lr: 0.4, step_size_up: 3, step_size_down: 5, mode: "
                  "triangular2}",
      .source = "torch.optim.lr_scheduler.CyclicLR in float64",
      .points = {
          { 0, 0.1 },
          { 1, 0.2 },
          { 3, 0.4 },
          { 5, 0.28 },
          { 7, 0.16 },
          { 10, 0.2 },
          { 14, 0.16 },
          { 23, 0.115 },
      } },
    { .settings = "{base_lr: 0.1, max_lr: 0.4, step_size_up: 4, mode: exp_range, gamma: 0.9}",
      .source = "torch.optim.lr_scheduler.CyclicLR in float64",
      .points = {
          { 0, 0.1 },
          { 1, 0.1675 },
          { 3, 0.264025 },
          { 5, 0.23286025 },
          { 7, 0.135872268 },
          { 10, 0.152301766 },
          { 14, 0.134315189 },
          { 23, 0.106647204 },
      } },
    { .settings = "{base_lr: 0.1, max_lr: 0.4, step_size_up: 4, mode: exp_range, gamma: 0.9, "
                  "scale_mode: cycle}",
      .source = "torch.optim.lr_scheduler.CyclicLR in float64",
      .points = {
          { 0, 0.1 },
          { 1, 0.1675 },
          { 3, 0.3025 },
          { 5, 0.3025 },
          { 7, 0.1675 },
          { 10, 0.2215 },
          { 14, 0.2215 },
          { 23, 0.154675 },
      } },
    { .settings = "{base_lr: 0.1, max_lr: 0.2, mode: square}",
 .refusal = "one of" },
    { .settings = NULL },
};

CSE_SAMPLES(schedule, cyclic_lr, samples);
