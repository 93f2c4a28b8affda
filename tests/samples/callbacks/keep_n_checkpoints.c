/* Samples of keep_n_checkpoints, with independent values. */
#include "tests/samples/samples.h"

/* Which files stay is held by tests/run/callbacks/check_checkpoint_callbacks.sh. */
static const cse_callback_sample samples[] = {
    { .settings = "{n: 2}", .val_losses = { 1.0 }, .source = "the job removes files" },
    { .settings = NULL },
};

CSE_SAMPLES(callback, keep_n_checkpoints, samples);
