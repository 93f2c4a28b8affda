/* Samples of cosine_decay_lr, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/optimizers.py. */
static const cse_schedule_sample samples[] = {
    { .settings = "{initial_learning_rate: 0.3, end_learning_rate: 0.01, total_iters: 24}",
      .source = "torch.optim.lr_scheduler.CosineAnnealingLR in float64",
      .points = { { 0, 0.3 },
                  { 1, 0.298759505 },
                  { 4, 0.280573684 },
                  { 8, 0.2275 },
                  { 12, 0.155 },
                  { 17, 0.066729593 },
                  { 22, 0.014940755 },
                  { 23, 0.011240495 } } },
    { .settings = "{initial_learning_rate: 0.3, end_learning_rate: 0.01, total_iters: 10}",
      .source = "the formula in float64",
      .points = { { 0, 0.3 },
                  { 1, 0.292903195 },
                  { 3, 0.240228862 },
                  { 5, 0.155 },
                  { 9, 0.017096805 },
                  { 10, 0.01 },
                  { 11, 0.01 },
                  { 23, 0.01 } } },
    { .settings = NULL },
};

CSE_SAMPLES(schedule, cosine_decay_lr, samples);
