/* LinearLR: a straight line from i to e over T steps, then constant:
 *
 *   lr(t) = (i - e) * (1 - min(t, T) / T) + e
 *
 * where i is initial_learning_rate, e end_learning_rate and T total_iters. PyTorch's class of this
 * name multiplies a base rate instead; with base i and end_factor e / i the values are the same. */
#include "csengine/generated/ops.h"
#include "engine/nn/schedules/decay.h"

static const cse_setting settings[] = {
    CSE_DECAY_SETTINGS,
    CSE_DECAY_CYCLE_SETTING,
    { .name = NULL },
};

static cse_tensor *learning_rate(const cse_schedule_part *part, cse_tensor *t)
{
    cse_tensor *fraction = cse_decay_fraction(part, t);
    return cse_decay_rate(part, 1, cse_sub(cse_constant(1), fraction));
}

/* Written by tests/reference/optimizers.py. */
static const cse_schedule_sample samples[] = {
    { .settings = "{initial_learning_rate: 0.4, end_learning_rate: 0.1, total_iters: 5, cycle: "
                  "true}",
      .source = "the formula in float64",
      .points = {
          { 0, 0.4 },
          { 1, 0.34 },
          { 3, 0.22 },
          { 5, 0.25 },
          { 7, 0.19 },
          { 10, 0.2 },
          { 14, 0.12 },
          { 23, 0.124 },
      } },
    { .settings = "{initial_learning_rate: 0.2, end_learning_rate: 0.05, total_iters: 12}",
      .source = "torch.optim.lr_scheduler.LinearLR, base 0.2, factors 1 and 0.25, in float64",
      .points = { { 0, 0.2 },
                  { 1, 0.1875 },
                  { 3, 0.1625 },
                  { 6, 0.125 },
                  { 11, 0.0625 },
                  { 12, 0.05 },
                  { 13, 0.05 },
                  { 23, 0.05 } } },
    { .settings = "{initial_learning_rate: 1}", .refusal = "end_learning_rate" },
    { .settings = "{initial_learning_rate: 1, end_learning_rate: 0, total_iters: 0}",
      .refusal = "out of range" },
    { .settings = NULL },
};

const cse_schedule_descriptor cse_schedule_linear_lr = {
    .name = "LinearLR",
    .summary = "a straight line from one learning rate to another",
    .settings = settings,
    .learning_rate = learning_rate,
    .samples = samples,
};
