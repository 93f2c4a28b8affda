/* Samples of count_params, with independent values. */
#include "tests/samples/samples.h"

static const cse_callback_sample samples[] = {
    { .settings = "{}",
      .val_losses = { 1.0 },
      .logs = { "num_params 0 676" },
      .tells = "676 parameters in 4 tensors",
      .source = "16 * 32 + 32 + 32 * 4 + 4" },
    { .settings = NULL },
};

CSE_SAMPLES(callback, count_params, samples);
