/* The rates of a training, as the ModelZoo's tracker has them.
 *
 * rate         samples per second since the logged step before; smoothed as
 *              0.6 * current + 0.4 * previous
 * global_rate  samples per second since this start of the run, compilation left out */
#ifndef CSE_RUN_CALLBACKS_RATES_H
#define CSE_RUN_CALLBACKS_RATES_H

#include "run/job/callbacks.h"

typedef struct cse_rates {
    int64_t step; /* of the last update; 0: none so far */
    double seconds, rate, global_rate, steps_per_second;
    double total_samples;
} cse_rates;

/* Takes a step; false where no time has passed since the one before. */
bool cse_rates_update(cse_rates *rates, const cse_callback_step *step);

/* What a callback that only logs rates is: its settings, of which there are none, and itself, which
 * free releases. */
typedef struct cse_rates_profiler {
    cse_callback_host *host;
    cse_rates rates;
} cse_rates_profiler;
extern const cse_setting cse_rates_profiler_settings[];
cse_status cse_rates_profiler_setup(const cse_settings *settings, cse_callback_host *host,
                                    void **self);

#endif
