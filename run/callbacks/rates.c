/* The first logged step has nothing before it, and so begins with the rate since the start. */
#include "run/callbacks/rates.h"

#include "engine/base/arena.h"

bool cse_rates_update(cse_rates *r, const cse_callback_step *step)
{
    const double done = (double)(step->step - step->first_step);
    const double samples = done * (double)step->batch_size;
    const bool begins = r->step == 0;
    const double elapsed = step->seconds - r->seconds;
    if (!(elapsed > 0) || done <= 0)
        return false;
    const double now = (samples - r->total_samples) / elapsed;
    r->rate = begins ? now : 0.6 * now + 0.4 * r->rate;
    r->global_rate = samples / step->seconds;
    r->steps_per_second = done / step->seconds;
    r->seconds = step->seconds;
    r->total_samples = samples;
    r->step = step->step;
    return true;
}

const cse_setting cse_rates_profiler_settings[] = { { .name = NULL } };

cse_status cse_rates_profiler_setup(const cse_settings *settings, cse_callback_host *host,
                                    void **self)
{
    (void)settings;
    cse_rates_profiler *p = cse_calloc(1, sizeof *p);
    p->host = host;
    *self = p;
    return CSE_OK;
}
