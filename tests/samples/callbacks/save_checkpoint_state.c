/* Samples of save_checkpoint_state, with independent values. */
#include "tests/samples/samples.h"

/* What is saved is held by tests/run/callbacks/check_checkpoint_callbacks.sh. */
static const cse_callback_sample samples[] = {
    { .settings = "{k: 2}", .val_losses = { 1.0 }, .source = "it acts on checkpoints" },
    { .settings = "{k: 2, checkpoint_name: \"../x_{step}\"}", .refusal = "checkpoint_name" },
    { .settings = "{k: 2, checkpoint_name: model.mdl}", .refusal = "with one {step}" },
    { .settings = "{k: 2, checkpoint_states: weights}", .refusal = "no states \"weights\"" },
    { .settings = NULL },
};

CSE_SAMPLES(callback, save_checkpoint_state, samples);
