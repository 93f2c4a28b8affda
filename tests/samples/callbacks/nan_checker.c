/* Samples of nan_checker, with independent values. */
#include "tests/samples/samples.h"

/* What the step computes is held by tests/run/callbacks/check_nan_checker.c. */
static const cse_callback_sample samples[] = {
    { .settings = "{num_steps: 2}", .val_losses = { 1.0 }, .source = "no such value: no failure" },
    { .settings = NULL },
};

CSE_SAMPLES(callback, nan_checker, samples);
