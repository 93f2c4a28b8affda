/* MultiStepLR: lr(t) = i * gamma^(number of milestones <= t), where i is initial_learning_rate. */
#include "csengine/generated/ops.h"
#include "engine/nn/schedules/clock.h"

static const cse_setting settings[] = {
    CSE_SCHEDULE_RATE_SETTING("initial_learning_rate", "learning rate of the first step"),
    { .name = "gamma",
      .type = CSE_SETTING_NUMBER,
      .min = 0,
      .max = 1000000.0,
      .doc = "factor at each milestone" },
    { .name = "milestones",
      .type = CSE_SETTING_INTEGER_LIST,
      .min = 1,
      .max = 2147483647,
      .doc = "steps at which the learning rate changes, rising" },
    CSE_SCHEDULE_LENGTH_SETTING,
    { .name = NULL },
};

static cse_tensor *learning_rate(const cse_schedule_part *part, cse_tensor *t)
{
    const double gamma = cse_settings_number(part->settings, "gamma");
    double factor = 1;
    cse_tensor *rate = cse_constant(1);
    for (int k = 0; k < cse_settings_count(part->settings, "milestones"); k++) {
        factor *= gamma;
        rate = cse_schedule_from(t, cse_settings_integer_at(part->settings, "milestones", k),
                                 cse_constant(factor), rate);
    }
    return cse_schedule_scaled(part, rate);
}

const cse_schedule_descriptor cse_schedule_multi_step_lr = {
    .name = "MultiStepLR",
    .summary = "falls by a factor at each milestone",
    .settings = settings,
    .check = cse_schedule_check_milestones,
    .learning_rate = learning_rate,
};
