/* Samples of lamb, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/optimizers.py. */
static const cse_optimizer_sample samples[] = {
        { .settings = "{lr: 0.05}",
      .source = "the formula in float64",
      .parameters = {
          { 0.442387084, -1.057625873, 1.942373938, 0.30762376 },
          { 0.369609528, -1.11110834, 1.953634976, 0.375965266 },
          { 0.375966801, -1.111176241, 1.956734463, 0.373076325 },
          { 0.302142236, -1.187151662, 1.941901824, 0.43890894 },
      } },
    { .settings = "{lr: 0.05, betas: [0.8, 0.9], eps: 0.01, weight_decay: 0.2}",
      .source = "the formula in float64",
      .parameters = {
          { 0.448938419, -1.03457604, 1.91400369, 0.295640958 },
          { 0.368586417, -1.067487329, 1.892116419, 0.363006511 },
          { 0.333451535, -0.946294992, 1.806366119, 0.353855752 },
          { 0.245068922, -0.851423043, 1.571135224, 0.350594413 },
      } },
    { .settings = "{lr: 0.05, weight_decay: 0.1, adam: true}",
      .source = "the formula in float64",
      .parameters = {
          { 0.339428914, -1.153106635, 1.831892846, 0.406850839 },
          { 0.135101833, -1.296248946, 1.854086775, 0.595095508 },
          { 0.099221926, -1.273179979, 1.887371948, 0.632570871 },
          { -0.026970083, -1.367862046, 1.829604883, 0.732568573 },
      } },
    { .settings = "{betas: [0.9, 1]}", .refusal = "below 1" },
    { .settings = NULL },
};

CSE_SAMPLES(optimizer, lamb, samples);
