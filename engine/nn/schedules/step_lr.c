/* StepLR: lr(t) = i * gamma^floor(t / step_size), where i is initial_learning_rate. */
#include "csengine/generated/ops.h"
#include "engine/nn/schedules/clock.h"

static const cse_setting settings[] = {
    CSE_SCHEDULE_RATE_SETTING("initial_learning_rate", "learning rate of the first step"),
    CSE_SCHEDULE_STEPS_SETTING("step_size", "steps between two changes"),
    { .name = "gamma",
      .type = CSE_SETTING_NUMBER,
      .min = 0,
      .max = 1000000.0,
      .doc = "factor at each change" },
    CSE_SCHEDULE_LENGTH_SETTING,
    { .name = NULL },
};

static cse_tensor *learning_rate(const cse_schedule_part *part, cse_tensor *t)
{
    cse_tensor *changes =
        cse_schedule_periods(t, cse_settings_integer(part->settings, "step_size"));
    return cse_schedule_scaled(
        part, cse_schedule_power(cse_settings_number(part->settings, "gamma"), changes));
}

const cse_schedule_descriptor cse_schedule_step_lr = {
    .name = "StepLR",
    .summary = "falls by a factor every so many steps, at once",
    .settings = settings,
    .learning_rate = learning_rate,
};
