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

static const cse_schedule_sample samples[] = {
    { .settings = "{scheduler: {LinearLR: {initial_learning_rate: 0.5, end_learning_rate: 0.25, "
                  "total_iters: 4}}}",
      .source = "the inner schedule, by hand: a group without a factor has 1",
      .points = { { 0, 0.5 },
                  { 1, 0.4375 },
                  { 2, 0.375 },
                  { 3, 0.3125 },
                  { 4, 0.25 },
                  { 5, 0.25 },
                  { 6, 0.25 },
                  { 7, 0.25 } } },
    { .settings = "{scheduler: null}", .refusal = "is no value" },
    { .settings = NULL },
};

const cse_schedule_descriptor cse_schedule_scale_per_param_lr = {
    .name = "ScalePerParamLR",
    .summary = "another schedule times the adjust_learning_rate of each parameter group",
    .settings = settings,
    .learning_rate = learning_rate,
    .samples = samples,
};
