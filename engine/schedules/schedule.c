/* What schedules share: how far a decay has come, and the learning rate of any part. */
#include "engine/schedules/schedule.h"

#include "csengine/generated/ops.h"

cse_decay cse_schedule_decay(const cse_schedule_part *part, cse_tensor *t)
{
    const int64_t steps = cse_settings_integer(part->settings, "total_iters");
    cse_tensor *done = cse_minimum(t, cse_constant_int((int32_t)steps));
    return (cse_decay){
        .first = cse_settings_number(part->settings, "initial_learning_rate"),
        .last = cse_settings_number(part->settings, "end_learning_rate"),
        .fraction = cse_div(cse_cast(done, CSE_FLOAT32), cse_constant((double)steps)),
    };
}

cse_tensor *cse_schedule_part_rate(const cse_schedule_part *part, cse_tensor *t)
{
    return part->descriptor->learning_rate(part, t);
}
