/* Samples of adagrad, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/optimizers.py. */
static const cse_optimizer_sample samples[] = {
        { .settings = "{}",
      .source = "torch.optim.Adagrad in float64",
      .parameters = {
          { 0.490000086, -1.009999986, 1.990000013, 0.259999974 },
          { 0.480884198, -1.010421471, 1.997711983, 0.269639519 },
          { 0.491616616, -1.004832385, 1.995430032, 0.259119931 },
          { 0.48973961, -1.006787883, 1.994482508, 0.26077053 },
      } },
    { .settings = "{lr: 0.1, lr_decay: 0.2, weight_decay: 0.1, eps: 0.01, "
                  "initial_accumulator_value: 0.5}",
      .source = "torch.optim.Adagrad in float64",
      .parameters = {
          { 0.477352765, -1.063365165, 1.920667241, 0.294636654 },
          { 0.445345639, -1.056474184, 1.963269247, 0.366167878 },
          { 0.470125943, -1.012512163, 1.938244126, 0.298970949 },
          { 0.454071773, -1.010360365, 1.920536778, 0.310474448 },
      } },
    { .settings = "{lr: 0.1, maximize: true}",
      .source = "torch.optim.Adagrad in float64",
      .parameters = {
          { 0.599999144, -0.900000145, 2.099999865, 0.150000261 },
          { 0.691158016, -0.895785286, 2.022880166, 0.05360481 },
          { 0.583833837, -0.951676148, 2.045699682, 0.158800694 },
          { 0.602603901, -0.932121171, 2.055174917, 0.142294696 },
      } },
    { .settings = NULL },
};

CSE_SAMPLES(optimizer, adagrad, samples);
