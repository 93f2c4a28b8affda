/* MultiplicativeLR: lr(t) = i * coefficient^t, where i is initial_learning_rate. */
#include "csengine/generated/ops.h"
#include "engine/nn/schedules/clock.h"

static const cse_setting settings[] = {
    CSE_SCHEDULE_RATE_SETTING("initial_learning_rate", "learning rate of the first step"),
    { .name = "coefficient",
      .type = CSE_SETTING_NUMBER,
      .min = 0,
      .max = 1000000.0,
      .doc = "factor of each step" },
    CSE_SCHEDULE_LENGTH_SETTING,
    { .name = NULL },
};

static cse_tensor *learning_rate(const cse_schedule_part *part, cse_tensor *t)
{
    return cse_schedule_scaled(
        part, cse_schedule_power(cse_settings_number(part->settings, "coefficient"),
                                 cse_schedule_time(t)));
}

const cse_schedule_descriptor cse_schedule_multiplicative_lr = {
    .name = "MultiplicativeLR",
    .summary = "is multiplied by a coefficient each step",
    .settings = settings,
    .learning_rate = learning_rate,
};
