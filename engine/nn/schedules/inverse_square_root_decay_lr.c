/* InverseSquareRootDecayLR: lr(t) = i * scale / sqrt(max(t, warmup_steps)), where i is
 * initial_learning_rate (Raffel et al., "Exploring the limits of transfer learning", JMLR 2020). */
#include "csengine/generated/ops.h"
#include "engine/nn/schedules/clock.h"

static const cse_setting settings[] = {
    { .name = "initial_learning_rate",
      .type = CSE_SETTING_NUMBER,
      .default_value = "1.0",
      .min = 0,
      .max = 1000000.0,
      .doc = "the learning rate before the scale and the root" },
    { .name = "scale",
      .type = CSE_SETTING_NUMBER,
      .default_value = "1.0",
      .min = 0,
      .max = 1000000.0,
      .doc = "factor of the learning rate" },
    { .name = "warmup_steps",
      .type = CSE_SETTING_NUMBER,
      .default_value = "1.0",
      .min = 1,
      .max = 2147483647,
      .doc = "steps during which the learning rate is constant" },
    CSE_SCHEDULE_LENGTH_SETTING,
    { .name = NULL },
};

static cse_tensor *learning_rate(const cse_schedule_part *part, cse_tensor *t)
{
    cse_tensor *steps = cse_maximum(
        cse_schedule_time(t), cse_constant(cse_settings_number(part->settings, "warmup_steps")));
    return cse_schedule_scaled(
        part, cse_scale(cse_rsqrt(steps), cse_settings_number(part->settings, "scale")));
}

const cse_schedule_descriptor cse_schedule_inverse_square_root_decay_lr = {
    .name = "InverseSquareRootDecayLR",
    .summary = "constant, then one over the root of the step",
    .settings = settings,
    .learning_rate = learning_rate,
};
