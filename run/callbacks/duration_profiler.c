/* DurationProfiler: logs the seconds that are left, of this part of the training
 * (loop_time_remaining) and of all its steps (time_remaining), by the rate so far. */
#include <stdlib.h>

#include "run/callbacks/rates.h"

static cse_status on_train_step_end(void *self, const cse_callback_step *step)
{
    cse_rates_profiler *p = self;
    if (!cse_rates_update(&p->rates, step))
        return CSE_OK;
    cse_callback_log(p->host, "loop_time_remaining", step->step,
                     (double)(step->loop_last_step - step->step) / p->rates.steps_per_second);
    cse_callback_log(p->host, "time_remaining", step->step,
                     (double)(step->last_step - step->step) / p->rates.steps_per_second);
    return CSE_OK;
}

const cse_callback_descriptor cse_callback_duration_profiler = {
    .name = "DurationProfiler",
    .summary = "logs the seconds that are left",
    .settings = cse_rates_profiler_settings,
    .setup = cse_rates_profiler_setup,
    .finalize = free,
    .on_train_step_end = on_train_step_end,
};
