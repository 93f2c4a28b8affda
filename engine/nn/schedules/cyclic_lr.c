/* CyclicLR: a straight line from base_lr to max_lr in step_size_up steps and back in
 * step_size_down steps, again and again (Smith, "Cyclical learning rates for training neural
 * networks", WACV 2017):
 *
 *   lr(t) = base_lr + (max_lr - base_lr) * height * scale
 *
 * height rises from 0 to 1 and falls again; scale is 1 (triangular), 0.5^c in cycle c = 0, 1, ...
 * (triangular2), or gamma^x (exp_range), where x is t or, with scale_mode cycle, c + 1. As in
 * PyTorch exp_range counts steps unless scale_mode says otherwise. */
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/nn/schedules/clock.h"

static const cse_setting settings[] = {
    CSE_SCHEDULE_RATE_SETTING("base_lr", "the lowest learning rate"),
    CSE_SCHEDULE_RATE_SETTING("max_lr", "the highest learning rate"),
    { .name = "step_size_up",
      .type = CSE_SETTING_INTEGER,
      .default_value = "2000",
      .min = 1,
      .max = 536870911,
      .doc = "steps from the lowest to the highest" },
    { .name = "step_size_down",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .min = 1,
      .max = 536870911,
      .doc = "steps back; null: as many as up" },
    { .name = "mode",
      .type = CSE_SETTING_CHOICE,
      .default_value = "triangular",
      .choices = "triangular|triangular2|exp_range",
      .doc = "how the cycles shrink: not, by half each, by gamma" },
    { .name = "gamma",
      .type = CSE_SETTING_NUMBER,
      .default_value = "1.0",
      .min = 0,
      .max = 1000000.0,
      .doc = "factor of exp_range, for each step or cycle" },
    { .name = "scale_mode",
      .type = CSE_SETTING_CHOICE,
      .default_value = "null",
      .choices = "cycle|iterations",
      .doc = "what exp_range counts; null: iterations" },
    CSE_SCHEDULE_LENGTH_SETTING,
    { .name = NULL },
};

/* How much of the range this cycle or step has. */
static cse_tensor *scale_of(const cse_schedule_part *part, cse_tensor *t, int64_t length)
{
    const cse_settings *s = part->settings;
    const char *mode = cse_settings_text(s, "mode");
    cse_tensor *cycle = cse_schedule_periods(t, length);
    if (strcmp(mode, "triangular") == 0)
        return NULL;
    if (strcmp(mode, "triangular2") == 0)
        return cse_schedule_power(0.5, cycle);
    bool cycles = cse_settings_has(s, "scale_mode") &&
                  strcmp(cse_settings_text(s, "scale_mode"), "cycle") == 0;
    return cse_schedule_power(cse_settings_number(s, "gamma"),
                              cycles ? cse_shift(cycle, 1) : cse_schedule_time(t));
}

static cse_tensor *learning_rate(const cse_schedule_part *part, cse_tensor *t)
{
    const cse_settings *s = part->settings;
    const double least = cse_settings_number(s, "base_lr"), most = cse_settings_number(s, "max_lr");
    const int64_t up = cse_settings_integer(s, "step_size_up");
    const int64_t down =
        cse_settings_has(s, "step_size_down") ? cse_settings_integer(s, "step_size_down") : up;
    cse_tensor *within = cse_schedule_within(t, up + down);
    cse_tensor *rising = cse_div(within, cse_constant((double)up));
    cse_tensor *falling =
        cse_div(cse_sub(cse_constant((double)(up + down)), within), cse_constant((double)down));
    cse_tensor *height = cse_minimum(rising, falling), *scale = scale_of(part, t, up + down);
    if (scale != NULL)
        height = cse_mul(height, scale);
    return cse_shift(cse_scale(height, most - least), least);
}

const cse_schedule_descriptor cse_schedule_cyclic_lr = {
    .name = "CyclicLR",
    .summary = "up and down between two learning rates",
    .settings = settings,
    .learning_rate = learning_rate,
};
