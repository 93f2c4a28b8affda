/* Samples of sgd, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/optimizers.py. */
static const cse_optimizer_sample samples[] = {
    { .settings = "{lr: 0.1}",
      .source = "torch.optim.SGD in float64",
      .parameters = { { 0.48832, -1.06898, 1.9257, 0.28833 },
                      { 0.46242, -1.07189, 2.01571, 0.4272 },
                      { 0.50195, -1.01722, 1.96364, 0.23331 },
                      { 0.49869, -1.04031, 1.93638, 0.24263 } } },
    { .settings = "{learning_rate: 0.1, momentum: 0.9}",
      .source = "torch.optim.SGD in float64",
      .parameters = { { 0.48832, -1.06898, 1.9257, 0.28833 },
                      { 0.451908, -1.133972, 1.94884, 0.461697 },
                      { 0.44569748, -1.12768132, 1.9823384, 0.49755657 },
                      { 0.408956277, -1.220078144, 1.960220904, 0.662959376 } } },
    { .settings = "{lr: 0.05, momentum: 0.8, nesterov: true, weight_decay: 0.1}",
      .source = "torch.optim.SGD in float64",
      .parameters = { { 0.484988, -1.053082, 1.91513, 0.282247 },
                      { 0.451975508, -1.065096862, 1.94872683, 0.416155377 },
                      { 0.458462637, -0.994325744, 1.874024242, 0.304147036 },
                      { 0.41391131, -0.944874064, 1.700193542, 0.310561852 } } },
    { .settings = "{lr: 0.1, maximize: true}",
      .source = "torch.optim.SGD in float64",
      .parameters = { { 0.51168, -0.93102, 2.0743, 0.21167 },
                      { 0.53758, -0.92811, 1.98429, 0.0728 },
                      { 0.49805, -0.98278, 2.03636, 0.26669 },
                      { 0.50131, -0.95969, 2.06362, 0.25737 } } },
    { .settings = "{lr: 0.1, momentum: 0.9, dampening: 0.3}",
      .source = "the formula in float64",
      .parameters = { { 0.491824, -1.048286, 1.94799, 0.276831 },
                      { 0.4663356, -1.0937804, 1.964188, 0.3981879 },
                      { 0.461988236, -1.089376924, 1.98763688, 0.423289599 },
                      { 0.436269394, -1.154054701, 1.972154633, 0.539071563 } } },
    { .settings = "{lr: 0.1, momentum: 0.9, dampening: 0.3, dampen_first_step: false, "
                  "maximize: true}",
      .source = "torch.optim.SGD in float64",
      .parameters = {
          { 0.51168, -0.93102, 2.0743, 0.21167 },
          { 0.540322, -0.866901, 2.078163, 0.079964 },
          { 0.55006202, -0.83945641, 2.08901843, 0.03716534 },
          { 0.583687035, -0.728086184, 2.154794226, -0.104562138 },
      } },
    { .settings = "{lr: 0.1, learning_rate: 0.1}", .refusal = "mean the same" },
    { .settings = "{lr: -1}", .refusal = "out of range" },
    { .settings = "{lr: 0.1, nesterov: true}", .refusal = "needs a momentum" },
    { .settings = "{lr: 0.1, momentum: 0.5, dampening: 0.1, nesterov: true}",
      .refusal = "dampening of 0" },
    { .settings = NULL },
};

CSE_SAMPLES(optimizer, sgd, samples);
