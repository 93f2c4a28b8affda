/* Written by grad_scaler.py: do not edit. */
#ifndef CSE_TESTS_REFERENCE_GRAD_SCALER_H
#define CSE_TESTS_REFERENCE_GRAD_SCALER_H

#include <stdbool.h>

enum { SCALER_STEPS = 16 };

static const bool scaler_finite[SCALER_STEPS] = { 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1 };
/* loss_scale, steps_since_rescale, overflows_since_rescale, num_skipped_steps */
static const struct {
    const char *name, *settings;
    double states[SCALER_STEPS][4];
} reference_scalers[] = {
    { "dynamic",
      "{loss_scale: dynamic, init_scale: 1024, steps_per_increase: 3, max_los"
      "s_scale: 4096}",
      {
          { 1024.0, 1.0, 0.0, 0.0 },
          { 1024.0, 2.0, 0.0, 0.0 },
          { 2048.0, 0.0, 0.0, 0.0 },
          { 2048.0, 1.0, 0.0, 0.0 },
          { 1024.0, 0.0, 0.0, 1.0 },
          { 1024.0, 1.0, 0.0, 1.0 },
          { 1024.0, 2.0, 0.0, 1.0 },
          { 2048.0, 0.0, 0.0, 1.0 },
          { 2048.0, 1.0, 0.0, 1.0 },
          { 2048.0, 2.0, 0.0, 1.0 },
          { 1024.0, 0.0, 0.0, 2.0 },
          { 512.0, 0.0, 0.0, 3.0 },
          { 512.0, 1.0, 0.0, 3.0 },
          { 512.0, 2.0, 0.0, 3.0 },
          { 1024.0, 0.0, 0.0, 3.0 },
          { 1024.0, 1.0, 0.0, 3.0 },
      } },
    { "tolerant",
      "{loss_scale: dynamic, init_scale: 64, steps_per_increase: 6, overflow_"
      "tolerance: 0.3}",
      {
          { 64.0, 1.0, 0.0, 0.0 },
          { 64.0, 2.0, 0.0, 0.0 },
          { 64.0, 3.0, 0.0, 0.0 },
          { 64.0, 4.0, 0.0, 0.0 },
          { 64.0, 5.0, 1.0, 1.0 },
          { 128.0, 0.0, 0.0, 1.0 },
          { 128.0, 1.0, 0.0, 1.0 },
          { 128.0, 2.0, 0.0, 1.0 },
          { 128.0, 3.0, 0.0, 1.0 },
          { 128.0, 4.0, 0.0, 1.0 },
          { 128.0, 5.0, 1.0, 2.0 },
          { 64.0, 0.0, 0.0, 3.0 },
          { 64.0, 1.0, 0.0, 3.0 },
          { 64.0, 2.0, 0.0, 3.0 },
          { 64.0, 3.0, 0.0, 3.0 },
          { 64.0, 4.0, 0.0, 3.0 },
      } },
};

#endif
