/* Samples of selective_grad, with independent values. */
#include "tests/samples/samples.h"

/* What it does to the training is held by tests/run/callbacks/check_selective_grad.sh. */
static const cse_callback_sample samples[] = {
    { .settings = "{selective_grads: {param_filter: '*.weight', init_method: outlier}}",
      .val_losses = { 1.0 },
      .source = "one mapping" },
    { .settings = "{selective_grads: [{param_filter: [fc_layers.0.weight]}, "
                  "{upper_threshold: 1.5}]}",
      .val_losses = { 1.0 },
      .source = "a list" },
    { .settings = "{}", .val_losses = { 1.0 }, .source = "the default filter" },
    { .settings = NULL },
};

CSE_SAMPLES(callback, selective_grad, samples);
