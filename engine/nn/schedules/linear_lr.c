/* LinearLR: a straight line from i to e over T steps, then constant:
 *
 *   lr(t) = (i - e) * (1 - min(t, T) / T) + e
 *
 * where i is initial_learning_rate, e end_learning_rate and T total_iters. PyTorch's class of this
 * name multiplies a base rate instead; with base i and end_factor e / i the values are the same. */
#include "csengine/generated/ops.h"
#include "engine/nn/schedules/decay.h"

static const cse_setting settings[] = {
    CSE_DECAY_SETTINGS,
    CSE_DECAY_CYCLE_SETTING,
    { .name = NULL },
};

static cse_tensor *learning_rate(const cse_schedule_part *part, cse_tensor *t)
{
    cse_tensor *fraction = cse_decay_fraction(part, t);
    return cse_decay_rate(part, 1, cse_sub(cse_constant(1), fraction));
}

const cse_schedule_descriptor cse_schedule_linear_lr = {
    .name = "LinearLR",
    .summary = "a straight line from one learning rate to another",
    .settings = settings,
    .learning_rate = learning_rate,
};
