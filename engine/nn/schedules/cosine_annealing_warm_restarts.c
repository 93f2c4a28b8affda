/* CosineAnnealingWarmRestarts: a cosine from i to eta_min in each period; period k is T_0 *
 * T_mult^k steps long and begins at S_k:
 *
 *   lr(t) = eta_min + (i - eta_min) * (1 + cos(pi * (t - S_k) / (T_0 * T_mult^k))) / 2
 *
 * where i is initial_learning_rate (Loshchilov, Hutter, "SGDR", ICLR 2017). The class of this name
 * in cerebras.pytorch allows no T_mult but 1, and stays constant within all periods but the first;
 * here each period is a cosine, as in PyTorch. */
#include <math.h>

#include "csengine/generated/ops.h"
#include "engine/nn/schedules/clock.h"

static const cse_setting settings[] = {
    CSE_SCHEDULE_RATE_SETTING("initial_learning_rate", "learning rate of the first step"),
    CSE_SCHEDULE_STEPS_SETTING("T_0", "steps of the first period"),
    { .name = "T_mult",
      .type = CSE_SETTING_INTEGER,
      .default_value = "1",
      .min = 1,
      .max = 1000000,
      .doc = "each period is this many times as long as the one before" },
    { .name = "eta_min",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0.0",
      .min = 0,
      .max = 1000000.0,
      .doc = "the lowest learning rate" },
    CSE_SCHEDULE_LENGTH_SETTING,
    { .name = NULL },
};

/* The part of its period that t has reached, in [0, 1). */
static cse_tensor *reached(const cse_schedule_part *part, cse_tensor *t)
{
    const int64_t first = cse_settings_integer(part->settings, "T_0"),
                  growth = cse_settings_integer(part->settings, "T_mult");
    if (growth == 1)
        return cse_div(cse_schedule_within(t, first), cse_constant((double)first));
    cse_tensor *start = cse_constant_int(0), *length = cse_constant_int((int32_t)first);
    for (int64_t begin = first, steps = first * growth; begin <= INT32_MAX && steps <= INT32_MAX;
         begin += steps, steps *= growth) {
        start = cse_schedule_from(t, begin, cse_constant_int((int32_t)begin), start);
        length = cse_schedule_from(t, begin, cse_constant_int((int32_t)steps), length);
    }
    return cse_div(cse_schedule_time(cse_sub(t, start)), cse_schedule_time(length));
}

static cse_tensor *learning_rate(const cse_schedule_part *part, cse_tensor *t)
{
    const double first = cse_settings_number(part->settings, "initial_learning_rate"),
                 least = cse_settings_number(part->settings, "eta_min");
    cse_tensor *height = cse_shift(cse_cos(cse_scale(reached(part, t), M_PI)), 1);
    return cse_shift(cse_scale(height, 0.5 * (first - least)), least);
}

const cse_schedule_descriptor cse_schedule_cosine_annealing_warm_restarts = {
    .name = "CosineAnnealingWarmRestarts",
    .summary = "a cosine down, again and again",
    .settings = settings,
    .learning_rate = learning_rate,
};
