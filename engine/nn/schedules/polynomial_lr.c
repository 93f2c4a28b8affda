/* PolynomialLR: a power of a straight line from i to e over T steps, then constant:
 *
 *   lr(t) = (i - e) * (1 - min(t, T) / T)^power + e
 *
 * where i is initial_learning_rate, e end_learning_rate and T total_iters. With e = 0 it is
 * PyTorch's class of this name. */
#include "csengine/generated/ops.h"
#include "engine/nn/schedules/decay.h"

static const cse_setting settings[] = {
    CSE_DECAY_SETTINGS,
    { .name = "power",
      .type = CSE_SETTING_NUMBER,
      .default_value = "1.0",
      .min = 0,
      .max = 1000,
      .doc = "1 is a straight line; more falls faster first" },
    CSE_DECAY_CYCLE_SETTING,
    { .name = NULL },
};

static cse_tensor *learning_rate(const cse_schedule_part *part, cse_tensor *t)
{
    cse_tensor *rest = cse_sub(cse_constant(1), cse_decay_fraction(part, t));
    cse_tensor *power = cse_constant(cse_settings_number(part->settings, "power"));
    return cse_decay_rate(part, 1, cse_pow(rest, power));
}

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

const cse_schedule_descriptor cse_schedule_polynomial_lr = {
    .name = "PolynomialLR",
    .summary = "a power of a straight line from one learning rate to another",
    .settings = settings,
    .learning_rate = learning_rate,
    .samples = samples,
};
