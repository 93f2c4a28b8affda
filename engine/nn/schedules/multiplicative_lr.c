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

/* Written by tests/reference/schedules.py. */
static const cse_schedule_sample samples[] = {
    { .settings = "{initial_learning_rate: 0.4, coefficient: 0.95}",
      .source = "torch.optim.lr_scheduler.MultiplicativeLR in float64",
      .points = {
          { 0, 0.4 },
          { 1, 0.38 },
          { 3, 0.34295 },
          { 5, 0.309512375 },
          { 7, 0.279334918 },
          { 10, 0.239494776 },
          { 14, 0.195069992 },
          { 23, 0.122942747 },
      } },
    { .settings = NULL },
};

const cse_schedule_descriptor cse_schedule_multiplicative_lr = {
    .name = "MultiplicativeLR",
    .summary = "is multiplied by a coefficient each step",
    .settings = settings,
    .learning_rate = learning_rate,
    .samples = samples,
};
