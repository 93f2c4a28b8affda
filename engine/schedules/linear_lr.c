/* LinearLR: from i to e along a straight line over T steps, then e:
 *
 *   lr(t) = (i - e) * (1 - min(t, T) / T) + e
 *
 * with i initial_learning_rate, e end_learning_rate, T total_iters. PyTorch's class of this name
 * multiplies a base rate instead; the values are the same for base i and end_factor e / i. */
#include "csengine/generated/ops.h"
#include "engine/schedules/schedule.h"

static const cse_setting settings[] = {
    CSE_DECAY_SETTINGS,
    { .name = NULL },
};

static cse_tensor *learning_rate(const cse_schedule_part *part, cse_tensor *t)
{
    const cse_decay decay = cse_schedule_decay(part, t);
    cse_tensor *left = cse_sub(cse_constant(1), decay.fraction);
    return cse_shift(cse_scale(left, decay.first - decay.last), decay.last);
}

const cse_schedule_descriptor cse_schedule_linear_lr = {
    .name = "LinearLR",
    .summary = "a straight line from one learning rate to another",
    .settings = settings,
    .learning_rate = learning_rate,
};
