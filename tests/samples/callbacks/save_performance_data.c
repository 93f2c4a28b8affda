/* Samples of save_performance_data, with independent values. */
#include "tests/samples/samples.h"

/* The file is held by tests/run/callbacks/check_callbacks.sh. */
static const cse_callback_sample samples[] = {
    { .settings = "{}", .val_losses = { 1.0 }, .source = "it writes a file" },
    { .settings = NULL },
};

CSE_SAMPLES(callback, save_performance_data, samples);
