/* ChainedScheduler: the first schedule times what each other one makes of its own beginning:
 *
 *   lr(t) = lr_0(t) * product over k > 0 of lr_k(t) / i_k
 *
 * where i_k is what schedule k starts from: its initial_learning_rate, base_lr or learning_rate,
 * the first of its learning_rates, or that of the first of its schedulers. */
#include "csengine/generated/ops.h"
#include "engine/nn/schedules/clock.h"

static const cse_setting settings[] = {
    { .name = "schedulers",
      .type = CSE_SETTING_ANY,
      .default_value = NULL,
      .doc = "list of schedules, each {NAME: {...}} or {scheduler: NAME, ...}" },
    { .name = NULL },
};

/* i_k; 0 where there is none. */
static double start_of(const cse_schedule_part *part)
{
    static const char *const names[] = { "initial_learning_rate", "base_lr", "learning_rate" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (cse_schedule_has(part, names[i]))
            return cse_settings_number(part->settings, names[i]);
    if (cse_schedule_has(part, "learning_rates"))
        return cse_settings_number_at(part->settings, "learning_rates", 0);
    return part->child_count > 0 ? start_of(part->children[0]) : 0;
}

static cse_status check(const cse_schedule_part *part)
{
    for (int k = 1; k < part->child_count; k++)
        if (start_of(part->children[k]) <= 0)
            return cse_fail(CSE_CONFIG,
                            "schedule ChainedScheduler: scheduler %d (%s) starts from 0, and the "
                            "chain divides by that: put it first, or start it above 0",
                            k, part->children[k]->descriptor->name);
    return CSE_OK;
}

static cse_tensor *learning_rate(const cse_schedule_part *part, cse_tensor *t)
{
    cse_tensor *rate = cse_schedule_part_rate(part->children[0], t);
    for (int k = 1; k < part->child_count; k++) {
        const cse_schedule_part *child = part->children[k];
        cse_tensor *factor =
            cse_div(cse_schedule_part_rate(child, t), cse_constant(start_of(child)));
        rate = cse_mul(rate, factor);
    }
    return rate;
}

/* Written by tests/reference/schedules.py. */
static const cse_schedule_sample samples[] = {
    { .settings = "{schedulers: [{LinearLR: {initial_learning_rate: 0.4, end_learning_rate: "
                  "0.1, total_iters: 10}}, {MultiplicativeLR: {initial_learning_rate: 0.2, "
                  "coefficient: 0.9}}, {PiecewiseConstantLR: {learning_rates: [0.5, 0.25], "
                  "milestones: [6]}}]}",
      .source = "the formula in float64",
      .points = {
          { 0, 0.4 },
          { 1, 0.333 },
          { 3, 0.22599 },
          { 5, 0.1476225 },
          { 6, 0.05845851 },
          { 10, 0.017433922 },
          { 14, 0.011438396 },
          { 23, 0.004431469 },
      } },
    { .settings = "{schedulers: [{ExponentialLR: {initial_learning_rate: 0.4, total_iters: 1, "
                  "decay_rate: 0.9}}, {StepLR: {initial_learning_rate: 0.1, step_size: 4, "
                  "gamma: 0.5}}]}",
      .source = "torch.optim.lr_scheduler.ChainedScheduler in float64",
      .points = {
          { 0, 0.4 },
          { 1, 0.36 },
          { 3, 0.2916 },
          { 5, 0.118098 },
          { 7, 0.09565938 },
          { 10, 0.034867844 },
          { 14, 0.011438396 },
          { 23, 0.001107867 },
      } },
    { .settings = "{schedulers: [0.1, {LinearLR: {initial_learning_rate: 0.0, "
                  "end_learning_rate: 0.1, total_iters: 5}}]}",
 .refusal = "starts from 0" },
    { .settings = "{schedulers: []}",
 .refusal = "must be a list" },
    { .settings = NULL },
};

const cse_schedule_descriptor cse_schedule_chained_scheduler = {
    .name = "ChainedScheduler",
    .summary = "the product of schedules",
    .settings = settings,
    .check = check,
    .learning_rate = learning_rate,
    .samples = samples,
};
