/* Samples of check_loss, with independent values. */
#include "tests/samples/samples.h"

static const cse_callback_sample samples[] = {
    { .settings = "{}", .val_losses = { 1.0 }, .source = "the session checks (run/session)" },
    { .settings = NULL },
};

CSE_SAMPLES(callback, check_loss, samples);
