/* ConstantLR: lr(t) = learning_rate. `total_iters` is used only inside a SequentialLR. */
#include "csengine/generated/ops.h"
#include "csengine/schedule.h"

static const cse_setting settings[] = {
    { .name = "learning_rate",
      .type = CSE_SETTING_NUMBER,
      .default_value = NULL,
      .min = 0,
      .max = 1e6,
      .doc = "the learning rate" },
    { .name = "total_iters",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .min = 1,
      .max = 2147483647,
      .doc = "steps until the next schedule of a sequence" },
    { .name = NULL },
};

static cse_tensor *learning_rate(const cse_schedule_part *part, cse_tensor *t)
{
    (void)t;
    return cse_constant(cse_settings_number(part->settings, "learning_rate"));
}

const cse_schedule_descriptor cse_schedule_constant_lr = {
    .name = "ConstantLR",
    .summary = "always the same learning rate",
    .settings = settings,
    .learning_rate = learning_rate,
};
