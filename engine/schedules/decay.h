/* What LinearLR and CosineDecayLR share, which go from one learning rate to another over T steps:
 * their settings and the interpolation. */
#ifndef CSE_SCHEDULES_DECAY_H
#define CSE_SCHEDULES_DECAY_H

#include "engine/schedules/schedule.h"

/* initial_learning_rate i, end_learning_rate e, total_iters T. */
extern const cse_setting cse_decay_settings[];

/* min(t, T) / T, a float32 scalar. */
cse_tensor *cse_decay_fraction(const cse_schedule_part *part, cse_tensor *t);

/* The learning rate e + (i - e) * scale * weight. `weight`, a float32 scalar, falls from 1 / scale
 * at t = 0 to 0 at T. */
cse_tensor *cse_decay_rate(const cse_schedule_part *part, double scale, cse_tensor *weight);

#endif
