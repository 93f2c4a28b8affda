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

/* Written by tests/reference/optimizers.py. */
static const cse_schedule_sample samples[] = {
    { .settings = "{schedulers: [{LinearLR: {initial_learning_rate: 0.0, end_learning_rate: 0.1, "
                  "total_iters: 5}}, {CosineDecayLR: {initial_learning_rate: 0.1, "
                  "end_learning_rate: 0.02, total_iters: 8}}, 0.02]}",
      .source = "the formulas of the parts in float64",
      .points = { { 0, 0 },
                  { 4, 0.08 },
                  { 5, 0.1 },
                  { 6, 0.096955181 },
                  { 9, 0.06 },
                  { 12, 0.023044819 },
                  { 13, 0.02 },
                  { 23, 0.02 } } },
    { .settings = "{milestones: [4, 9], schedulers: [0.5, {LinearLR: {initial_learning_rate: 0.4, "
                  "end_learning_rate: 0.1, total_iters: 3}}, {ConstantLR: {learning_rate: 0.05}}]}",
      .source = "the formulas of the parts in float64",
      .points = { { 0, 0.5 },
                  { 3, 0.5 },
                  { 4, 0.4 },
                  { 5, 0.3 },
                  { 7, 0.1 },
                  { 8, 0.1 },
                  { 9, 0.05 },
                  { 23, 0.05 } } },
    { .settings = "{schedulers: [0.1, 0.2], milestones: [1, 2]}", .refusal = "has 2 entries" },
    { .settings = "{schedulers: [0.1, 0.2, 0.3], milestones: [5, 5]}",
      .refusal = "must be greater" },
    { .settings = "{schedulers: 3}", .refusal = "must be a list" },
    { .settings = NULL },
};

const cse_schedule_descriptor cse_schedule_sequential_lr = {
    .name = "SequentialLR",
    .summary = "one schedule after another",
    .settings = settings,
    .learning_rate = learning_rate,
    .samples = samples,
};
