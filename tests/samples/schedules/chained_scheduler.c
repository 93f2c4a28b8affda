/* Samples of chained_scheduler, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/schedules.py. */
static const cse_schedule_sample samples[] = {
    { .settings = "{schedulers: [{LinearLR: {initial_learning_rate: 0.4, end_learning_rate: "
                  "0.1, total_iters: 10}}, {MultiplicativeLR: {initial_learning_rate: 0.2, "
                  "coefficient: 0.9}}, {PiecewiseConstantLR: {learning_rates: [0.5, 0.25], "
                  "milestones: [6]}}]}",
      .source = "the formula in float64",
      .points = {
          { 0, 0.4 },
          { 1, 0.333 },
          { 3, 0.22599 },
          { 5, 0.1476225 },
          { 6, 0.05845851 },
          { 10, 0.017433922 },
          { 14, 0.011438396 },
          { 23, 0.004431469 },
      } },
    { .settings = "{schedulers: [{ExponentialLR: {initial_learning_rate: 0.4, total_iters: 1, "
                  "decay_rate: 0.9}}, {StepLR: {initial_learning_rate: 0.1, step_size: 4, "
                  "gamma: 0.5}}]}",
      .source = "torch.optim.lr_scheduler.ChainedScheduler in float64",
      .points = {
          { 0, 0.4 },
          { 1, 0.36 },
          { 3, 0.2916 },
          { 5, 0.118098 },
          { 7, 0.09565938 },
          { 10, 0.034867844 },
          { 14, 0.011438396 },
          { 23, 0.001107867 },
      } },
    { .settings = "{schedulers: [0.1, {LinearLR: {initial_learning_rate: 0.0, "
                  "end_learning_rate: 0.1, total_iters: 5}}]}",
 .refusal = "starts from 0" },
    { .settings = "{schedulers: []}",
 .refusal = "must be a list" },
    { .settings = NULL },
};

CSE_SAMPLES(schedule, chained_scheduler, samples);
