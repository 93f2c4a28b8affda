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

const cse_schedule_descriptor cse_schedule_inverse_exponential_time_decay_lr = {
    .name = "InverseExponentialTimeDecayLR",
    .summary = "falls as one over a power of time",
    .settings = settings,
    .learning_rate = learning_rate,
};
