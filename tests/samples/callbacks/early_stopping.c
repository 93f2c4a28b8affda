/* Samples of early_stopping, with independent values. */
#include "tests/samples/samples.h"

/* By hand, from the rule in the head of this file. */
static const cse_callback_sample samples[] = {
    { .settings = "{patience: 2}",
      .val_losses = { 1.0, 0.5, 0.6, 0.4, 0.4, 0.5 },
      .stops_at = 60,
      .source = "best 1, .5, -, .4, then twice not below .4" },
    { .settings = "{patience: 2, min_delta: 0.25}",
      .val_losses = { 1.0, 0.9, 0.75, 0.7, 0.5, 0.25 },
      .stops_at = 30,
      .source = "0.9 and 0.75 are not below 1 - 0.25" },
    { .settings = "{patience: 1, mode: max}",
      .val_losses = { 1.0, 2.0, 3.0, 2.5 },
      .stops_at = 40,
      .source = "2.5 is not above 3" },
    { .settings = "{patience: 3}",
      .val_losses = { 5, 4, 3, 2, 1, 0.5, 0.25, 0.125 },
      .source = "each improves" },
    { .settings = "{monitor: val_lost}", .val_losses = { 1.0 }, .refusal = "no metric val_lost" },
    { .settings = NULL },
};

CSE_SAMPLES(callback, early_stopping, samples);
