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

const cse_schedule_descriptor cse_schedule_chained_scheduler = {
    .name = "ChainedScheduler",
    .summary = "the product of schedules",
    .settings = settings,
    .check = check,
    .learning_rate = learning_rate,
};
