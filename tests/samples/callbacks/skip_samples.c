/* Samples of skip_samples, with independent values. */
#include "tests/samples/samples.h"

/* What training reads is held by tests/run/callbacks/check_skip_samples.sh. */
static const cse_callback_sample samples[] = {
    { .settings = "{n: 100}",
      .val_losses = { 1.0 },
      .tells = "from 100 samples further on",
      .source = "the setting" },
    { .settings = "{n: 0}", .refusal = "n" },
    { .settings = NULL },
};

CSE_SAMPLES(callback, skip_samples, samples);
