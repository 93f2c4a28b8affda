/* LambdaLR: lr(t) = i * (t / 30) * 0.95^t, where i is initial_learning_rate.
 *
 * The class of this name in cerebras.pytorch multiplies i by a list of Python functions of t, which
 * a subclass may replace; a configuration cannot, so that the functions here are those that the
 * class has by itself. Another function of t is a schedule: csengine/schedule.h. */
#include "csengine/generated/ops.h"
#include "engine/nn/schedules/clock.h"

static const cse_setting settings[] = {
    CSE_SCHEDULE_RATE_SETTING("initial_learning_rate", "learning rate of the first step"),
    CSE_SCHEDULE_LENGTH_SETTING,
    { .name = NULL },
};

static cse_tensor *learning_rate(const cse_schedule_part *part, cse_tensor *t)
{
    cse_tensor *time = cse_schedule_time(t);
    cse_tensor *rise = cse_div(time, cse_constant(30));
    return cse_schedule_scaled(part, cse_mul(rise, cse_schedule_power(0.95, time)));
}

const cse_schedule_descriptor cse_schedule_lambda_lr = {
    .name = "LambdaLR",
    .summary = "rises with the step number and falls by a factor of 0.95",
    .settings = settings,
    .learning_rate = learning_rate,
};
