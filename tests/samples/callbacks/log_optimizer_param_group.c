/* Samples of log_optimizer_param_group, with independent values. */
#include "tests/samples/samples.h"

static const cse_callback_sample samples[] = {
    { .settings = "{keys: [lr, weight_decay]}",
      .val_losses = { 1.0 },
      .logs = { "weight_decay/0 1 0.01", "weight_decay/0 2 0.01" },
      .source = "the optimizer's settings" },
    { .settings = "{keys: momentum}",
      .val_losses = { 1.0 },
      .logs = { "momentum/0 1 0.9" },
      .source = "the optimizer's settings" },
    { .settings = "{keys: [weight_decoy]}", .refusal = "no number \"weight_decoy\"" },
    { .settings = NULL },
};

CSE_SAMPLES(callback, log_optimizer_param_group, samples);
