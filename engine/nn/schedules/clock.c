/* Numbers made of the clock of a schedule. */
#include "engine/nn/schedules/clock.h"

#include <string.h>

#include "csengine/generated/ops.h"

bool cse_schedule_has(const cse_schedule_part *part, const char *setting)
{
    const cse_setting *row = part->descriptor->settings;
    while (row->name != NULL && strcmp(row->name, setting) != 0)
        row++;
    return row->name != NULL;
}

cse_tensor *cse_schedule_time(cse_tensor *t)
{
    return cse_cast(t, CSE_FLOAT32);
}

cse_tensor *cse_schedule_periods(cse_tensor *t, int64_t steps)
{
    return cse_schedule_time(cse_floor_divide(t, cse_constant_int((int32_t)steps)));
}

cse_tensor *cse_schedule_within(cse_tensor *t, int64_t steps)
{
    return cse_schedule_time(cse_remainder(t, cse_constant_int((int32_t)steps)));
}

cse_tensor *cse_schedule_fraction(cse_tensor *t, int64_t steps, bool whole)
{
    if (whole)
        return cse_schedule_periods(t, steps);
    return cse_div(cse_schedule_time(t), cse_constant((double)steps));
}

cse_tensor *cse_schedule_power(double base, cse_tensor *exponent)
{
    return cse_pow(cse_constant(base), exponent);
}

cse_tensor *cse_schedule_scaled(const cse_schedule_part *part, cse_tensor *factor)
{
    return cse_scale(factor, cse_settings_number(part->settings, "initial_learning_rate"));
}

cse_tensor *cse_schedule_from(cse_tensor *t, int64_t start, cse_tensor *after, cse_tensor *before)
{
    return cse_where(cse_greater_equal(t, cse_constant_int((int32_t)start)), after, before);
}

cse_status cse_schedule_check_milestones(const cse_schedule_part *part)
{
    const cse_settings *settings = part->settings;
    for (int k = 1; k < cse_settings_count(settings, "milestones"); k++)
        if (cse_settings_integer_at(settings, "milestones", k) <=
            cse_settings_integer_at(settings, "milestones", k - 1))
            return cse_fail(CSE_CONFIG,
                            "schedule %s: milestone %d (%s) is %lld; each must be greater than the "
                            "one before",
                            part->descriptor->name, k, cse_settings_origin(settings, "milestones"),
                            (long long)cse_settings_integer_at(settings, "milestones", k));
    return CSE_OK;
}
