/* Samples of radam, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/optimizers.py. */
static const cse_optimizer_sample samples[] = {
        { .settings = "{lr: 0.02}",
      .source = "torch.optim.RAdam in float64",
      .parameters = {
          { 0.497664, -1.013796, 1.98514, 0.257666 },
          { 0.493831158, -1.020637263, 1.987575789, 0.275915158 },
          { 0.493244529, -1.020095622, 1.990649325, 0.279282052 },
          { 0.492341089, -1.023579899, 1.98780466, 0.28248375 },
      } },
    { .settings = "{lr: 0.05, betas: [0.8, 0.9], eps: 0.01, weight_decay: 0.1}",
      .source = "torch.optim.RAdam in float64",
      .parameters = {
          { 0.49166, -1.02949, 1.95285, 0.267915 },
          { 0.479393167, -1.040545306, 1.951472639, 0.313708014 },
          { 0.474766097, -1.024909486, 1.94008669, 0.311467481 },
          { 0.460679101, -1.018714595, 1.911316854, 0.315668513 },
      } },
    { .settings = "{lr: 0.05, betas: [0.8, 0.5]}",
      .source = "torch.optim.RAdam in float64",
      .parameters = {
          { 0.49416, -1.03449, 1.96285, 0.269165 },
          { 0.48437, -1.050627222, 1.971341667, 0.316257778 },
          { 0.484607612, -1.04526165, 1.979589511, 0.316909775 },
          { 0.481742906, -1.053206487, 1.97660813, 0.329542066 },
      } },
    { .settings = "{lr: 0.05, betas: [0.8, 0.9], eps: 0.01, weight_decay: 0.1, "
                  "decoupled_weight_decay: true, maximize: true}",
      .source = "torch.optim.RAdam in float64",
      .parameters = {
          { 0.50334, -0.96051, 2.02715, 0.229585 },
          { 0.5106133, -0.939570228, 2.008522583, 0.181344297 },
          { 0.505272243, -0.93553976, 1.980317151, 0.178946411 },
          { 0.496921368, -0.908751144, 1.948578799, 0.168433457 },
      } },
    { .settings = "{betas: [1, 0.9]}", .refusal = "below 1" },
    { .settings = NULL },
};

CSE_SAMPLES(optimizer, radam, samples);
