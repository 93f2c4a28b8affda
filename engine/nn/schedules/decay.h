/* What LinearLR, PolynomialLR and CosineDecayLR share, which go from one learning rate to another
 * over T steps: their settings and the interpolation. */
#ifndef CSE_SCHEDULES_DECAY_H
#define CSE_SCHEDULES_DECAY_H

#include "csengine/schedule.h"

/* initial_learning_rate i, end_learning_rate e, total_iters T. */
#define CSE_DECAY_SETTINGS                                                               \
    { .name = "initial_learning_rate",                                                   \
      .type = CSE_SETTING_NUMBER,                                                        \
      .min = 0,                                                                          \
      .max = 1e6,                                                                        \
      .doc = "learning rate of the first step" },                                        \
        { .name = "end_learning_rate",                                                   \
          .type = CSE_SETTING_NUMBER,                                                    \
          .min = 0,                                                                      \
          .max = 1e6,                                                                    \
          .doc = "learning rate from step total_iters on" },                             \
    {                                                                                    \
        .name = "total_iters", .type = CSE_SETTING_INTEGER, .min = 1, .max = 2147483647, \
        .doc = "steps from the first to the second"                                      \
    }
/* Of those that can begin again. */
#define CSE_DECAY_CYCLE_SETTING                                                        \
    {                                                                                  \
        .name = "cycle", .type = CSE_SETTING_BOOL, .default_value = "false",           \
        .doc = "at each multiple of total_iters begin again, lower, with longer to go" \
    }

/* How much of the way is done, a float32 scalar: min(t, T) / T. With the setting `cycle`, if the
 * schedule has it, t / (T * (floor(t / T) + 1)), so that the way is longer each time its end is
 * reached. (cerebras.pytorch has the setting too, without any effect.) */
cse_tensor *cse_decay_fraction(const cse_schedule_part *part, cse_tensor *t);

/* The learning rate e + (i - e) * scale * weight. `weight`, a float32 scalar, falls from 1 / scale
 * at t = 0 to 0 at T. */
cse_tensor *cse_decay_rate(const cse_schedule_part *part, double scale, cse_tensor *weight);

#endif
