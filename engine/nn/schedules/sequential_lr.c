/* SequentialLR: one schedule after another. Schedule k applies from milestone k - 1 up to milestone
 * k, and its steps count from 0 at its start:
 *
 *   lr(t) = lr_k(t - milestone[k - 1])   for milestone[k - 1] <= t < milestone[k]
 */
#include "csengine/generated/ops.h"
#include "csengine/schedule.h"

static const cse_setting settings[] = {
    { .name = "schedulers",
      .type = CSE_SETTING_ANY,
      .default_value = NULL,
      .doc = "list of schedules, each {NAME: {...}} or {scheduler: NAME, ...}" },
    { .name = "milestones",
      .type = CSE_SETTING_INTEGER_LIST,
      .default_value = "null",
      .min = 1,
      .max = 2147483647,
      .doc =
          "step at which each schedule but the first begins; null: after the total_iters before" },
    { .name = NULL },
};

static cse_tensor *learning_rate(const cse_schedule_part *part, cse_tensor *t)
{
    cse_tensor *rate = cse_schedule_part_rate(part->children[0], t);
    for (int k = 1; k < part->child_count; k++) {
        cse_tensor *start = cse_constant_int((int32_t)part->milestones[k - 1]);
        cse_tensor *own = cse_schedule_part_rate(part->children[k], cse_sub(t, start));
        rate = cse_where(cse_greater_equal(t, start), own, rate);
    }
    return rate;
}

const cse_schedule_descriptor cse_schedule_sequential_lr = {
    .name = "SequentialLR",
    .summary = "one schedule after another",
    .settings = settings,
    .learning_rate = learning_rate,
};
