/* CosineDecayLR: from i to e along half a cosine over T steps, then e:
 *
 *   lr(t) = e + (i - e) * 0.5 * (1 + cos(pi * min(t, T) / T))
 *
 * with i initial_learning_rate, e end_learning_rate, T total_iters (Loshchilov, Hutter, "SGDR",
 * ICLR 2017, without restarts). */
#include <math.h>

#include "csengine/generated/ops.h"
#include "engine/schedules/schedule.h"

static const cse_setting settings[] = {
    CSE_DECAY_SETTINGS,
    { .name = NULL },
};

static cse_tensor *learning_rate(const cse_schedule_part *part, cse_tensor *t)
{
    const cse_decay decay = cse_schedule_decay(part, t);
    cse_tensor *wave = cse_shift(cse_cos(cse_scale(decay.fraction, M_PI)), 1);
    return cse_shift(cse_scale(wave, 0.5 * (decay.first - decay.last)), decay.last);
}

const cse_schedule_descriptor cse_schedule_cosine_decay_lr = {
    .name = "CosineDecayLR",
    .summary = "half a cosine from one learning rate to another",
    .settings = settings,
    .learning_rate = learning_rate,
};
