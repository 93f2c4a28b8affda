/* Samples of adafactor, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/optimizers.py. */
static const cse_optimizer_sample samples[] = {
        { .settings = "{lr: 0.1}", .matrix = true,
      .source = "torch.optim.Adafactor in float64",
      .parameters = {
          { 0.472113194, -1.156969198, 1.851550918, 0.322989913 },
          { 0.373004722, -1.165169188, 1.976803848, 0.465293189 },
          { 0.519104855, -1.042697677, 1.915395555, 0.24385131 },
          { 0.517255195, -1.08767464, 1.865162167, 0.249620572 },
      } },
    { .settings = "{lr: 0.1}",
      .source = "the formula in float64",
      .parameters = {
          { 0.384755694, -1.115244306, 1.884755694, 0.365244306 },
          { 0.251433616, -1.122244284, 2.00133492, 0.50438686 },
          { 0.482485597, -1.014429647, 1.939615392, 0.277092676 },
          { 0.462308882, -1.058091857, 1.891879227, 0.289082509 },
      } },
    { .settings = "{lr: 0.1, eps: [0.01, 2.0], clip_threshold: 0.8, decay_rate: -0.5, beta1: "
                  "0.6, weight_decay: 0.2}", .matrix = true,
      .source = "the formula in float64",
      .parameters = {
          { 0.464524457, -1.047245284, 1.837130475, 0.280809433 },
          { 0.369517092, -1.063113488, 1.786898227, 0.374818496 },
          { 0.378533707, -0.915152282, 1.672805811, 0.28386521 },
          { 0.323035993, -0.797215582, 1.387957348, 0.246561595 },
      } },
    { .settings = "{lr: 0.1, scale_parameter: false, beta1: 0.9}",
      .source = "the formula in float64",
      .parameters = {
          { 0.49, -1.01, 1.99, 0.26 },
          { 0.469166683, -1.0196213, 1.991347265, 0.281349927 },
          { 0.461351632, -1.015858506, 1.994839733, 0.291654703 },
          { 0.435244028, -1.029095987, 1.989863172, 0.319640359 },
      } },
    { .settings = "{lr: 0.1, relative_step: true}", .refusal = "InverseSquareRootDecayLR" },
    { .settings = "{lr: 0.1, eps: [0.1]}", .refusal = "two numbers" },
    { .settings = NULL },
};

CSE_SAMPLES(optimizer, adafactor, samples);
