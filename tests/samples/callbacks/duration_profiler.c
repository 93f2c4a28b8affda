/* Samples of duration_profiler, with independent values. */
#include "tests/samples/samples.h"

static const cse_callback_sample samples[] = {
    { .settings = "{}",
      .val_losses = { 1.0, 2.0 },
      .logs = { "loop_time_remaining 1 0.9", "time_remaining 1 1.9", "loop_time_remaining 2 0.8",
                "time_remaining 2 1.8" },
      .source = "10 steps a second; 9 and 19 of them are left after the first" },
    { .settings = NULL },
};

CSE_SAMPLES(callback, duration_profiler, samples);
