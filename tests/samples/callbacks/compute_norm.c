/* Samples of compute_norm, with independent values. */
#include "tests/samples/samples.h"

/* What it computes is held by tests/run/callbacks/check_callbacks.sh, against numpy. */
static const cse_callback_sample samples[] = {
    { .settings = "{}", .val_losses = { 1.0, 2.0 }, .source = "it logs what the step computes" },
    { .settings = NULL },
};

CSE_SAMPLES(callback, compute_norm, samples);
