/* Samples of adadelta, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/optimizers.py. */
static const cse_optimizer_sample samples[] = {
        { .settings = "{}",
      .source = "torch.optim.Adadelta in float64",
      .parameters = {
          { 0.496838881, -1.003162244, 1.996837751, 0.25316217 },
          { 0.492728238, -1.003360912, 2.000358705, 0.257488365 },
          { 0.499915275, -1.001001785, 1.99877456, 0.250385153 },
          { 0.499135395, -1.001981552, 1.997470863, 0.250818585 },
      } },
    { .settings = "{lr: 0.5, rho: 0.7, eps: 0.001, weight_decay: 0.1, maximize: true}",
      .source = "torch.optim.Adadelta in float64",
      .parameters = {
          { 0.521840461, -0.971209309, 2.028705707, 0.221416832 },
          { 0.555581785, -0.963587879, 1.991107249, 0.181964677 },
          { 0.476782622, -0.976095244, 1.995901793, 0.24900892 },
          { 0.460188385, -0.951405349, 1.982485073, 0.244150139 },
      } },
    { .settings = NULL },
};

CSE_SAMPLES(optimizer, adadelta, samples);
