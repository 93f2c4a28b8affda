/* Samples of rmsprop, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/optimizers.py. */
static const cse_optimizer_sample samples[] = {
        { .settings = "{lr: 0.01}",
      .source = "torch.optim.RMSprop in float64",
      .parameters = {
          { 0.400000086, -1.099999986, 1.900000013, 0.349999974 },
          { 0.308763797, -1.104236046, 1.977276514, 0.446429623 },
          { 0.416662495, -1.048141283, 1.954279586, 0.340682539 },
          { 0.397969424, -1.067829928, 1.944441332, 0.357056965 },
      } },
    { .settings = "{lr: 0.01, alpha: 0.8, eps: 0.001, weight_decay: 0.1, momentum: 0.9}",
      .source = "torch.optim.RMSprop in float64",
      .parameters = {
          { 0.477935115, -1.022276225, 1.977692217, 0.272221997 },
          { 0.438098601, -1.039267346, 1.971894587, 0.313952876 },
          { 0.398530982, -1.033147683, 1.957029812, 0.347756726 },
          { 0.305794927, -1.025657264, 1.894696002, 0.408531473 },
      } },
    { .settings = "{lr: 0.01, alpha: 0.9, eps: 0.01, centered: true}",
      .source = "torch.optim.RMSprop in float64",
      .parameters = {
          { 0.474067496, -1.03179681, 1.968097896, 0.280666453 },
          { 0.4457002, -1.033204752, 1.992373317, 0.312996249 },
          { 0.478729403, -1.015473064, 1.984861714, 0.278277806 },
          { 0.473271845, -1.022217452, 1.980662391, 0.283318322 },
      } },
    { .settings = "{lr: 0.01, alpha: 0.9, eps: 0.01, centered: true, momentum: 0.5}",
      .source = "torch.optim.RMSprop in float64",
      .parameters = {
          { 0.474067496, -1.03179681, 1.968097896, 0.280666453 },
          { 0.432733948, -1.049103157, 1.976422265, 0.328329476 },
          { 0.442994979, -1.032925757, 1.981839128, 0.321847423 },
          { 0.437078571, -1.040062187, 1.975825532, 0.328271198 },
      } },
    { .settings = "{lr: 0.01, eps: 0.01, weight_decay: 0.1, maximize: true}",
      .source = "torch.optim.RMSprop in float64",
      .parameters = {
          { 0.540047962, -0.911238481, 2.0844479, 0.169673421 },
          { 0.605022478, -0.897805412, 2.001298469, 0.079750765 },
          { 0.496226564, -0.931256458, 2.002509238, 0.178343473 },
          { 0.478823333, -0.890510005, 1.976348762, 0.161243441 },
      } },
    { .settings = "{nesterov: true}", .refusal = "unknown setting" },
    { .settings = NULL },
};

CSE_SAMPLES(optimizer, rmsprop, samples);
