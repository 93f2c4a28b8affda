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

/* Written by tests/reference/optimizers.py. */
static const cse_schedule_sample samples[] = {
    { .settings = "{initial_learning_rate: 0.3, end_learning_rate: 0.01, total_iters: 24}",
      .source = "torch.optim.lr_scheduler.CosineAnnealingLR in float64",
      .points = { { 0, 0.3 },
                  { 1, 0.298759505 },
                  { 4, 0.280573684 },
                  { 8, 0.2275 },
                  { 12, 0.155 },
                  { 17, 0.066729593 },
                  { 22, 0.014940755 },
                  { 23, 0.011240495 } } },
    { .settings = "{initial_learning_rate: 0.3, end_learning_rate: 0.01, total_iters: 10}",
      .source = "the formula in float64",
      .points = { { 0, 0.3 },
                  { 1, 0.292903195 },
                  { 3, 0.240228862 },
                  { 5, 0.155 },
                  { 9, 0.017096805 },
                  { 10, 0.01 },
                  { 11, 0.01 },
                  { 23, 0.01 } } },
    { .settings = NULL },
};

const cse_schedule_descriptor cse_schedule_cosine_decay_lr = {
    .name = "CosineDecayLR",
    .summary = "half a cosine from one learning rate to another",
    .settings = settings,
    .learning_rate = learning_rate,
    .samples = samples,
};
