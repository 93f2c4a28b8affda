/* Samples of model_checkpoint, with independent values. */
#include "tests/samples/samples.h"

/* The file is held by tests/run/callbacks/check_checkpoint_callbacks.sh. */
static const cse_callback_sample samples[] = {
    { .settings = "{}",
      .val_losses = { 1.0 },
      .tells = "step 10 has the best val_loss and no checkpoint",
      .source = "the test writes none" },
    { .settings = "{filename: ../best.mdl}", .refusal = "filename" },
    { .settings = "{filename: checkpoint_0.mdl}", .refusal = "other than checkpoint_" },
    { .settings = NULL },
};

CSE_SAMPLES(callback, model_checkpoint, samples);
