/* Samples of rate_profiler, with independent values. */
#include "tests/samples/samples.h"

static const cse_callback_sample samples[] = {
    { .settings = "{}",
      .val_losses = { 1.0 },
      .logs = { "local_samples_per_sec 1 640", "avg_samples_per_sec 1 640",
                "avg_steps_per_sec 1 10", "local_samples_per_sec 2 640" },
      .source = "64 samples in 0.1 s" },
    { .settings = NULL },
};

CSE_SAMPLES(callback, rate_profiler, samples);
