/* OneCycleLR: from i up to max_lr, then down to i / final_div_factor, at step total_steps - 1
 * (Smith, Topin, "Super-convergence", 2019). Between two of these learning rates stands half a
 * cosine or a straight line:
 *
 *   two phases    i -> max_lr until p, -> i / final_div_factor until total_steps - 1
 *   three_phase   i -> max_lr until p, -> i until 2 p, -> i / final_div_factor until the same
 *
 * where i is initial_learning_rate (PyTorch: max_lr / div_factor) and p is
 * pct_start * total_steps - 1. After the last step it stays at the end, where PyTorch fails. */
#include <math.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/nn/schedules/clock.h"

static const cse_setting settings[] = {
    CSE_SCHEDULE_RATE_SETTING("initial_learning_rate", "learning rate of the first step"),
    CSE_SCHEDULE_RATE_SETTING("max_lr", "the highest learning rate"),
    { .name = "total_steps",
      .type = CSE_SETTING_INTEGER,
      .default_value = "1000",
      .min = 2,
      .max = 1073741823,
      .doc = "steps of the cycle" },
    { .name = "pct_start",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0.3",
      .min = 0,
      .max = 1,
      .doc = "fraction of the steps that rise" },
    { .name = "final_div_factor",
      .type = CSE_SETTING_NUMBER,
      .default_value = "1e4",
      .min = 1e-06,
      .max = 1000000000000.0,
      .doc = "what initial_learning_rate is divided by for the end" },
    { .name = "three_phase",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "fall to initial_learning_rate as fast as it rose, then to the end" },
    { .name = "anneal_strategy",
      .type = CSE_SETTING_CHOICE,
      .default_value = "cos",
      .choices = "cos|linear",
      .doc = "half a cosine or a straight line" },
    CSE_SCHEDULE_LENGTH_SETTING,
    { .name = NULL },
};

typedef struct phase {
    double begin, end; /* steps */
    double from, to;   /* learning rates */
} phase;

static int list_phases(const cse_settings *s, phase phases[3])
{
    const double low = cse_settings_number(s, "initial_learning_rate");
    const double high = cse_settings_number(s, "max_lr");
    const double end = low / cse_settings_number(s, "final_div_factor");
    const double steps = (double)cse_settings_integer(s, "total_steps");
    const double peak = cse_settings_number(s, "pct_start") * steps - 1;
    phases[0] = (phase){ 0, peak, low, high };
    if (!cse_settings_bool(s, "three_phase")) {
        phases[1] = (phase){ peak, steps - 1, high, end };
        return 2;
    }
    phases[1] = (phase){ peak, 2 * peak, high, low };
    phases[2] = (phase){ 2 * peak, steps - 1, low, end };
    return 3;
}

static cse_status check(const cse_schedule_part *part)
{
    phase phases[3];
    int count = list_phases(part->settings, phases);
    for (int k = 0; k < count; k++)
        if (phases[k].end <= phases[k].begin)
            return cse_fail(CSE_CONFIG,
                            "schedule OneCycleLR: pct_start (%s) leaves phase %d of %d no step; "
                            "each needs more than one of the %lld",
                            cse_settings_origin(part->settings, "pct_start"), k + 1, count,
                            (long long)cse_settings_integer(part->settings, "total_steps"));
    return CSE_OK;
}

static cse_tensor *rate_in(const phase *p, cse_tensor *time, bool linear)
{
    cse_tensor *done = cse_div(cse_shift(time, -p->begin), cse_constant(p->end - p->begin));
    done = cse_minimum(done, cse_constant(1));
    if (linear)
        return cse_shift(cse_scale(done, p->to - p->from), p->from);
    cse_tensor *height = cse_shift(cse_cos(cse_scale(done, M_PI)), 1);
    return cse_shift(cse_scale(height, 0.5 * (p->from - p->to)), p->to);
}

static cse_tensor *learning_rate(const cse_schedule_part *part, cse_tensor *t)
{
    phase phases[3];
    const int count = list_phases(part->settings, phases);
    const bool linear = strcmp(cse_settings_text(part->settings, "anneal_strategy"), "linear") == 0;
    cse_tensor *time = cse_schedule_time(t), *rate = rate_in(&phases[count - 1], time, linear);
    for (int k = count - 2; k >= 0; k--)
        rate = cse_where(cse_less_equal(time, cse_constant(phases[k].end)),
                         rate_in(&phases[k], time, linear), rate);
    return rate;
}

const cse_schedule_descriptor cse_schedule_one_cycle_lr = {
    .name = "OneCycleLR",
    .summary = "one rise and one long fall",
    .settings = settings,
    .check = check,
    .learning_rate = learning_rate,
};
