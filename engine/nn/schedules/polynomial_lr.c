/* PolynomialLR: a power of a straight line from i to e over T steps, then constant:
 *
 *   lr(t) = (i - e) * (1 - min(t, T) / T)^power + e
 *
 * where i is initial_learning_rate, e end_learning_rate and T total_iters. With e = 0 it is
 * PyTorch's class of this name. */
#include "csengine/generated/ops.h"
#include "engine/nn/schedules/decay.h"

static const cse_setting settings[] = {
    CSE_DECAY_SETTINGS,
    { .name = "power",
      .type = CSE_SETTING_NUMBER,
      .default_value = "1.0",
      .min = 0,
      .max = 1000,
      .doc = "1 is a straight line; more falls faster first" },
    CSE_DECAY_CYCLE_SETTING,
    { .name = NULL },
};

static cse_tensor *learning_rate(const cse_schedule_part *part, cse_tensor *t)
{
    cse_tensor *rest = cse_sub(cse_constant(1), cse_decay_fraction(part, t));
    cse_tensor *power = cse_constant(cse_settings_number(part->settings, "power"));
    return cse_decay_rate(part, 1, cse_pow(rest, power));
}

const cse_schedule_descriptor cse_schedule_polynomial_lr = {
    .name = "PolynomialLR",
    .summary = "a power of a straight line from one learning rate to another",
    .settings = settings,
    .learning_rate = learning_rate,
};
