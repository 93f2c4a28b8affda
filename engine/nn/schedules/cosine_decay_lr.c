/* CosineDecayLR: half a cosine from i to e over T steps, then constant:
 *
 *   lr(t) = e + (i - e) * 0.5 * (1 + cos(pi * min(t, T) / T))
 *
 * where i is initial_learning_rate, e end_learning_rate and T total_iters (Loshchilov, Hutter,
 * "SGDR", ICLR 2017, without restarts). */
#include <math.h>

#include "csengine/generated/ops.h"
#include "engine/nn/schedules/decay.h"

static const cse_setting settings[] = { CSE_DECAY_SETTINGS, { .name = NULL } };

static cse_tensor *learning_rate(const cse_schedule_part *part, cse_tensor *t)
{
    cse_tensor *angle = cse_scale(cse_decay_fraction(part, t), M_PI);
    return cse_decay_rate(part, 0.5, cse_shift(cse_cos(angle), 1));
}

const cse_schedule_descriptor cse_schedule_cosine_decay_lr = {
    .name = "CosineDecayLR",
    .summary = "half a cosine from one learning rate to another",
    .settings = settings,
    .learning_rate = learning_rate,
};
