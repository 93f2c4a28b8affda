/* RateProfiler: logs local_samples_per_sec, avg_samples_per_sec and avg_steps_per_sec (rates.h). */
#include <stdlib.h>

#include "engine/base/arena.h"
#include "run/callbacks/rates.h"

typedef struct profiler {
    cse_callback_host *host;
    cse_rates rates;
} profiler;

static cse_status setup(const cse_settings *settings, cse_callback_host *host, void **self)
{
    (void)settings;
    profiler *p = cse_calloc(1, sizeof *p);
    p->host = host;
    *self = p;
    return CSE_OK;
}

static cse_status on_train_step_end(void *self, const cse_callback_step *step)
{
    profiler *p = self;
    if (!cse_rates_update(&p->rates, step))
        return CSE_OK;
    cse_callback_log(p->host, "local_samples_per_sec", step->step, p->rates.rate);
    cse_callback_log(p->host, "avg_samples_per_sec", step->step, p->rates.global_rate);
    cse_callback_log(p->host, "avg_steps_per_sec", step->step, p->rates.steps_per_second);
    return CSE_OK;
}

static const cse_setting settings[] = { { .name = NULL } };

static const cse_callback_sample samples[] = {
    { .settings = "{}",
      .val_losses = { 1.0 },
      .logs = { "local_samples_per_sec 1 640", "avg_samples_per_sec 1 640",
                "avg_steps_per_sec 1 10", "local_samples_per_sec 2 640" },
      .source = "64 samples in 0.1 s" },
    { .settings = NULL },
};

const cse_callback_descriptor cse_callback_rate_profiler = {
    .name = "RateProfiler",
    .summary = "logs samples and steps per second, smoothed and since the start",
    .settings = settings,
    .setup = setup,
    .finalize = free,
    .on_train_step_end = on_train_step_end,
    .samples = samples,
};
