/* What LinearLR, PolynomialLR and CosineDecayLR share. */
#include "engine/nn/schedules/decay.h"

#include "csengine/generated/ops.h"
#include "engine/nn/schedules/clock.h"

cse_tensor *cse_decay_fraction(const cse_schedule_part *part, cse_tensor *t)
{
    const int64_t steps = cse_settings_integer(part->settings, "total_iters");
    if (cse_schedule_has(part, "cycle") && cse_settings_bool(part->settings, "cycle")) {
        cse_tensor *ways = cse_shift(cse_schedule_periods(t, steps), 1);
        return cse_div(cse_schedule_time(t), cse_scale(ways, (double)steps));
    }
    cse_tensor *done = cse_minimum(t, cse_constant_int((int32_t)steps));
    return cse_div(cse_cast(done, CSE_FLOAT32), cse_constant((double)steps));
}

cse_tensor *cse_decay_rate(const cse_schedule_part *part, double scale, cse_tensor *weight)
{
    const double first = cse_settings_number(part->settings, "initial_learning_rate");
    const double last = cse_settings_number(part->settings, "end_learning_rate");
    return cse_shift(cse_scale(weight, scale * (first - last)), last);
}
