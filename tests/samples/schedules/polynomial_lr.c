/* Samples of polynomial_lr, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/schedules.py. */
static const cse_schedule_sample samples[] = {
    { .settings = "{initial_learning_rate: 0.4, end_learning_rate: 0.0, total_iters: 12, "
                  "power: 2.5}",
      .source = "torch.optim.lr_scheduler.PolynomialLR in float64",
      .points = {
          { 0, 0.4 },
          { 1, 0.321801889 },
          { 3, 0.194855716 },
          { 5, 0.103956578 },
          { 7, 0.044826196 },
          { 10, 0.004536092 },
          { 14, 0.0 },
          { 23, 0.0 },
      } },
    { .settings = "{initial_learning_rate: 0.4, end_learning_rate: 0.1, total_iters: 12}",
      .source = "the formula in float64",
      .points = {
          { 0, 0.4 },
          { 1, 0.375 },
          { 3, 0.325 },
          { 5, 0.275 },
          { 7, 0.225 },
          { 10, 0.15 },
          { 14, 0.1 },
          { 23, 0.1 },
      } },
    { .settings = "{initial_learning_rate: 0.4, end_learning_rate: 0.1, total_iters: 5, power: "
                  "2, cycle: true}",
      .source = "the formula in float64",
      .points = {
          { 0, 0.4 },
          { 1, 0.292 },
          { 3, 0.148 },
          { 5, 0.175 },
          { 7, 0.127 },
          { 10, 0.133333333 },
          { 14, 0.101333333 },
          { 23, 0.10192 },
      } },
    { .settings = "{initial_learning_rate: 0.1, total_iters: 5}",
 .refusal = "end_learning_rate" },
    { .settings = NULL },
};

CSE_SAMPLES(schedule, polynomial_lr, samples);
