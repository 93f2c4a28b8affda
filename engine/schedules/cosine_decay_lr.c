/* CosineDecayLR: from i to e along half a cosine over T steps, then e:
 *
 *   lr(t) = e + (i - e) * 0.5 * (1 + cos(pi * min(t, T) / T))
 *
 * with i initial_learning_rate, e end_learning_rate, T total_iters (Loshchilov, Hutter, "SGDR",
 * ICLR 2017, without restarts). */
#include <math.h>

#include "csengine/generated/ops.h"
#include "engine/session/members.h"

static const cse_setting settings[] = {
    { .name = "initial_learning_rate",
      .type = CSE_SETTING_NUMBER,
      .default_value = NULL,
      .min = 0,
      .max = 1e6,
      .doc = "learning rate of the first step" },
    { .name = "end_learning_rate",
      .type = CSE_SETTING_NUMBER,
      .default_value = NULL,
      .min = 0,
      .max = 1e6,
      .doc = "learning rate from step total_iters on" },
    { .name = "total_iters",
      .type = CSE_SETTING_INTEGER,
      .default_value = NULL,
      .min = 1,
      .max = 2147483647,
      .doc = "steps from the first to the second" },
    { .name = NULL },
};

static cse_tensor *learning_rate(const cse_schedule_part *part, cse_tensor *t)
{
    double first = cse_settings_number(part->settings, "initial_learning_rate");
    double last = cse_settings_number(part->settings, "end_learning_rate");
    int64_t steps = cse_settings_integer(part->settings, "total_iters");
    cse_tensor *done = cse_minimum(t, cse_constant_int((int32_t)steps));
    cse_tensor *fraction = cse_div(cse_cast(done, CSE_FLOAT32), cse_constant((double)steps));
    cse_tensor *wave = cse_shift(cse_cos(cse_scale(fraction, M_PI)), 1);
    return cse_shift(cse_scale(wave, 0.5 * (first - last)), last);
}

const cse_schedule_descriptor cse_schedule_cosine_decay_lr = {
    .name = "CosineDecayLR",
    .summary = "half a cosine from one learning rate to another",
    .settings = settings,
    .learning_rate = learning_rate,
};
