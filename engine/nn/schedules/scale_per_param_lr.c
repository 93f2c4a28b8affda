/* ScalePerParamLR: another schedule, times the factor of each parameter group:
 *
 *   lr(t) = adjust_learning_rate * lr_inner(t)
 *
 * The factor is 1 for a group that gives none. */
#include "csengine/generated/ops.h"
#include "csengine/schedule.h"

static const cse_setting settings[] = {
    { .name = "scheduler",
      .type = CSE_SETTING_ANY,
      .default_value = NULL,
      .doc = "the schedule, {NAME: {...}} or a number" },
    { .name = NULL },
};

static cse_tensor *learning_rate(const cse_schedule_part *part, cse_tensor *t)
{
    return cse_scale(cse_schedule_part_rate(part->children[0], t), part->adjust_learning_rate);
}

const cse_schedule_descriptor cse_schedule_scale_per_param_lr = {
    .name = "ScalePerParamLR",
    .summary = "another schedule times the adjust_learning_rate of each parameter group",
    .settings = settings,
    .learning_rate = learning_rate,
};
