/* InverseExponentialTimeDecayLR:
 *
 *   lr(t) = i / (1 + decay_rate * t^step_exponent / T)
 *
 * where i is initial_learning_rate and T total_iters; with staircase the quotient t^step_exponent
 * / T is rounded down. */
#include "csengine/generated/ops.h"
#include "engine/nn/schedules/clock.h"

static const cse_setting settings[] = {
    CSE_SCHEDULE_RATE_SETTING("initial_learning_rate", "learning rate of the first step"),
    { .name = "step_exponent",
      .type = CSE_SETTING_NUMBER,
      .min = 0,
      .max = 16,
      .doc = "power of the step number" },
    CSE_SCHEDULE_STEPS_SETTING("total_iters", "what the power is divided by"),
    { .name = "decay_rate",
      .type = CSE_SETTING_NUMBER,
      .min = 0,
      .max = 1000000.0,
      .doc = "how fast the divisor grows" },
    CSE_SCHEDULE_STAIRCASE_SETTING,
    { .name = NULL },
};

static cse_tensor *learning_rate(const cse_schedule_part *part, cse_tensor *t)
{
    cse_tensor *power = cse_pow(cse_schedule_time(t),
                                cse_constant(cse_settings_number(part->settings, "step_exponent")));
    cse_tensor *quotient =
        cse_div(power, cse_constant((double)cse_settings_integer(part->settings, "total_iters")));
    if (cse_settings_bool(part->settings, "staircase"))
        quotient = cse_floor(quotient);
    cse_tensor *divisor =
        cse_shift(cse_scale(quotient, cse_settings_number(part->settings, "decay_rate")), 1);
    return cse_schedule_scaled(part, cse_reciprocal(divisor));
}

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

const cse_schedule_descriptor cse_schedule_inverse_exponential_time_decay_lr = {
    .name = "InverseExponentialTimeDecayLR",
    .summary = "falls as one over a power of time",
    .settings = settings,
    .learning_rate = learning_rate,
    .samples = samples,
};
