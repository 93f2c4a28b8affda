/* RateProfiler: logs local_samples_per_sec, avg_samples_per_sec and avg_steps_per_sec (rates.h). */
#include <stdlib.h>

#include "run/callbacks/rates.h"

static cse_status on_train_step_end(void *self, const cse_callback_step *step)
{
    cse_rates_profiler *p = self;
    if (!cse_rates_update(&p->rates, step))
        return CSE_OK;
    cse_callback_log(p->host, "local_samples_per_sec", step->step, p->rates.rate);
    cse_callback_log(p->host, "avg_samples_per_sec", step->step, p->rates.global_rate);
    cse_callback_log(p->host, "avg_steps_per_sec", step->step, p->rates.steps_per_second);
    return CSE_OK;
}

const cse_callback_descriptor cse_callback_rate_profiler = {
    .name = "RateProfiler",
    .summary = "logs samples and steps per second, smoothed and since the start",
    .settings = cse_rates_profiler_settings,
    .setup = cse_rates_profiler_setup,
    .finalize = free,
    .on_train_step_end = on_train_step_end,
};
