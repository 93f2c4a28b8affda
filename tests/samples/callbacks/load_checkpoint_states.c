/* Samples of load_checkpoint_states, with independent values. */
#include "tests/samples/samples.h"

/* What is loaded is held by tests/run/callbacks/check_checkpoint_callbacks.sh. */
static const cse_callback_sample samples[] = {
    { .settings = "{load_checkpoint_states: model}",
      .val_losses = { 1.0 },
      .source = "the job loads" },
    { .settings = "{load_checkpoint_states: [model, optimizer]}",
      .val_losses = { 1.0 },
      .source = "a list" },
    { .settings = "{load_checkpoint_states: \"model,optimizer\"}",
      .val_losses = { 1.0 },
      .source = "the form of the ModelZoo's command line" },
    { .settings = "{load_checkpoint_states: weights}", .refusal = "no states \"weights\"" },
    { .settings = "{load_checkpoint_states: []}", .refusal = "names no states" },
    { .settings = NULL },
};

CSE_SAMPLES(callback, load_checkpoint_states, samples);
