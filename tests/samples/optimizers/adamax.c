/* Samples of adamax, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/optimizers.py. */
static const cse_optimizer_sample samples[] = {
        { .settings = "{lr: 0.02}",
      .source = "torch.optim.Adamax in float64",
      .parameters = {
          { 0.480000171, -1.019999971, 1.980000027, 0.269999948 },
          { 0.46520161, -1.029927633, 1.982706156, 0.283141119 },
          { 0.462936222, -1.029151277, 1.986443712, 0.285566105 },
          { 0.456112047, -1.035405105, 1.985353861, 0.291225174 },
      } },
    { .settings = "{lr: 0.02, betas: [0.8, 0.9], eps: 0.01, weight_decay: 0.1, maximize: true}",
      .source = "torch.optim.Adamax in float64",
      .parameters = {
          { 0.517395833, -0.980250063, 2.019638336, 0.230478126 },
          { 0.530728549, -0.968534711, 2.012967418, 0.216892439 },
          { 0.522711256, -0.965511796, 2.001512448, 0.216244554 },
          { 0.513457209, -0.949788813, 1.989260454, 0.208890203 },
      } },
    { .settings = "{betas: 0.9}", .refusal = "a list" },
    { .settings = NULL },
};

CSE_SAMPLES(optimizer, adamax, samples);
