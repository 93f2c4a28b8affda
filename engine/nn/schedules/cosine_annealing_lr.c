/* CosineAnnealingLR: a cosine between i and eta_min that takes T_max steps each way:
 *
 *   lr(t) = eta_min + (i - eta_min) * (1 + cos(pi * t / T_max)) / 2
 *
 * where i is initial_learning_rate (Loshchilov, Hutter, "SGDR", ICLR 2017). CosineDecayLR stays at
 * the lower end. */
#include <math.h>

#include "csengine/generated/ops.h"
#include "engine/nn/schedules/clock.h"

static const cse_setting settings[] = {
    CSE_SCHEDULE_RATE_SETTING("initial_learning_rate", "learning rate of the first step"),
    CSE_SCHEDULE_STEPS_SETTING("T_max", "steps from the highest to the lowest"),
    { .name = "eta_min",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0.0",
      .min = 0,
      .max = 1000000.0,
      .doc = "the lowest learning rate" },
    CSE_SCHEDULE_LENGTH_SETTING,
    { .name = NULL },
};

static cse_tensor *learning_rate(const cse_schedule_part *part, cse_tensor *t)
{
    const int64_t steps = cse_settings_integer(part->settings, "T_max");
    const double first = cse_settings_number(part->settings, "initial_learning_rate"),
                 least = cse_settings_number(part->settings, "eta_min");
    cse_tensor *within = cse_schedule_within(t, 2 * steps);
    cse_tensor *height = cse_shift(cse_cos(cse_scale(within, M_PI / (double)steps)), 1);
    return cse_shift(cse_scale(height, 0.5 * (first - least)), least);
}

const cse_schedule_descriptor cse_schedule_cosine_annealing_lr = {
    .name = "CosineAnnealingLR",
    .summary = "a cosine down and up again",
    .settings = settings,
    .learning_rate = learning_rate,
};
