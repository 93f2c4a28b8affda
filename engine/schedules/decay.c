/* What LinearLR and CosineDecayLR share. */
#include "engine/schedules/decay.h"

#include "csengine/generated/ops.h"

const cse_setting cse_decay_settings[] = {
    { .name = "initial_learning_rate",
      .type = CSE_SETTING_NUMBER,
      .min = 0,
      .max = 1e6,
      .doc = "learning rate of the first step" },
    { .name = "end_learning_rate",
      .type = CSE_SETTING_NUMBER,
      .min = 0,
      .max = 1e6,
      .doc = "learning rate from step total_iters on" },
    { .name = "total_iters",
      .type = CSE_SETTING_INTEGER,
      .min = 1,
      .max = 2147483647,
      .doc = "steps from the first to the second" },
    { .name = NULL },
};

cse_tensor *cse_decay_fraction(const cse_schedule_part *part, cse_tensor *t)
{
    const int64_t steps = cse_settings_integer(part->settings, "total_iters");
    cse_tensor *done = cse_minimum(t, cse_constant_int((int32_t)steps));
    return cse_div(cse_cast(done, CSE_FLOAT32), cse_constant((double)steps));
}

cse_tensor *cse_decay_rate(const cse_schedule_part *part, double scale, cse_tensor *weight)
{
    const double first = cse_settings_number(part->settings, "initial_learning_rate");
    const double last = cse_settings_number(part->settings, "end_learning_rate");
    return cse_shift(cse_scale(weight, scale * (first - last)), last);
}
