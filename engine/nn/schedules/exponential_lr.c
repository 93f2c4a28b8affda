/* ExponentialLR: lr(t) = i * decay_rate^(t / T), where i is initial_learning_rate and T
 * total_iters; with staircase the exponent is rounded down. With T = 1 it is PyTorch's class of
 * this name. */
#include "csengine/generated/ops.h"
#include "engine/nn/schedules/clock.h"

static const cse_setting settings[] = {
    CSE_SCHEDULE_RATE_SETTING("initial_learning_rate", "learning rate of the first step"),
    CSE_SCHEDULE_STEPS_SETTING("total_iters", "steps in which decay_rate applies once"),
    { .name = "decay_rate",
      .type = CSE_SETTING_NUMBER,
      .min = 0,
      .max = 1000000.0,
      .doc = "factor for each total_iters steps" },
    CSE_SCHEDULE_STAIRCASE_SETTING,
    { .name = NULL },
};

static cse_tensor *learning_rate(const cse_schedule_part *part, cse_tensor *t)
{
    cse_tensor *exponent =
        cse_schedule_fraction(t, cse_settings_integer(part->settings, "total_iters"),
                              cse_settings_bool(part->settings, "staircase"));
    return cse_schedule_scaled(
        part, cse_schedule_power(cse_settings_number(part->settings, "decay_rate"), exponent));
}

const cse_schedule_descriptor cse_schedule_exponential_lr = {
    .name = "ExponentialLR",
    .summary = "falls by a factor every so many steps",
    .settings = settings,
    .learning_rate = learning_rate,
};
