/* Samples of nadam, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/optimizers.py. */
static const cse_optimizer_sample samples[] = {
        { .settings = "{lr: 0.02}",
      .source = "torch.optim.NAdam in float64",
      .parameters = {
          { 0.478870966, -1.021129036, 1.978870964, 0.271129035 },
          { 0.459299092, -1.023270664, 1.994189185, 0.291611498 },
          { 0.482519553, -1.011763347, 1.988655275, 0.26879865 },
          { 0.47841619, -1.017945767, 1.984167442, 0.272010846 },
      } },
    { .settings = "{betas: [0.8, 0.9], eps: 0.01, weight_decay: 0.1, momentum_decay: 0.3, lr: "
                  "0.05}",
      .source = "torch.optim.NAdam in float64",
      .parameters = {
          { 0.448194431, -1.053995923, 1.945664777, 0.303420476 },
          { 0.399081278, -1.051756979, 1.97524768, 0.357411696 },
          { 0.43907606, -1.005998352, 1.944863148, 0.295313166 },
          { 0.399452348, -0.989263649, 1.893384045, 0.298472037 },
      } },
    { .settings = "{lr: 0.05, eps: 0.01, weight_decay: 0.1, "
                  "decoupled_weight_decay: true, maximize: true}",
      .source = "torch.optim.NAdam in float64",
      .parameters = {
          { 0.54615677, -0.942932235, 2.042121094, 0.197270471 },
          { 0.59003602, -0.932970997, 1.994073382, 0.145575642 },
          { 0.529022777, -0.951770209, 1.987997322, 0.200470337 },
          { 0.527709833, -0.917924832, 1.959820033, 0.189118029 },
      } },
    { .settings = "{eps: -1}", .refusal = "out of range" },
    { .settings = NULL },
};

CSE_SAMPLES(optimizer, nadam, samples);
