/* PiecewiseConstantLR: lr(t) = learning_rates[k] for milestones[k - 1] <= t < milestones[k]. */
#include "csengine/generated/ops.h"
#include "engine/nn/schedules/clock.h"

static const cse_setting settings[] = {
    { .name = "learning_rates",
      .type = CSE_SETTING_NUMBER_LIST,
      .min = 0,
      .max = 1000000.0,
      .doc = "one more than there are milestones" },
    { .name = "milestones",
      .type = CSE_SETTING_INTEGER_LIST,
      .min = 1,
      .max = 2147483647,
      .doc = "steps at which the learning rate changes, rising" },
    { .name = NULL },
};

static cse_status check(const cse_schedule_part *part)
{
    int rates = cse_settings_count(part->settings, "learning_rates");
    int milestones = cse_settings_count(part->settings, "milestones");
    if (rates != milestones + 1)
        return cse_fail(CSE_CONFIG,
                        "schedule PiecewiseConstantLR: learning_rates (%s) has %d entries; %d "
                        "milestones need %d",
                        cse_settings_origin(part->settings, "learning_rates"), rates, milestones,
                        milestones + 1);
    return cse_schedule_check_milestones(part);
}

static cse_tensor *learning_rate(const cse_schedule_part *part, cse_tensor *t)
{
    const cse_settings *s = part->settings;
    cse_tensor *rate = cse_constant(cse_settings_number_at(s, "learning_rates", 0));
    for (int k = 0; k < cse_settings_count(s, "milestones"); k++)
        rate = cse_schedule_from(t, cse_settings_integer_at(s, "milestones", k),
                                 cse_constant(cse_settings_number_at(s, "learning_rates", k + 1)),
                                 rate);
    return rate;
}

const cse_schedule_descriptor cse_schedule_piecewise_constant_lr = {
    .name = "PiecewiseConstantLR",
    .summary = "a list of learning rates, each for a range of steps",
    .settings = settings,
    .check = check,
    .learning_rate = learning_rate,
};
