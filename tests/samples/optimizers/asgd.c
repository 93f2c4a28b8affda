/* Samples of asgd, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/optimizers.py. */
static const cse_optimizer_sample samples[] = {
        { .settings = "{lr: 0.1}",
      .source = "torch.optim.ASGD in float64",
      .parameters = {
          { 0.488315, -1.068970001, 1.925679999, 0.288327501 },
          { 0.462410311, -1.07186929, 2.015670066, 0.427193574 },
          { 0.501930128, -1.01717926, 1.963560794, 0.233299579 },
          { 0.498650407, -1.04022717, 1.936223339, 0.242608832 },
      } },
    { .settings = "{lr: 0.1, lambd: 0.3, alpha: 0.5, t0: 2, weight_decay: 0.1, maximize: true}",
      .source = "torch.optim.ASGD in float64",
      .parameters = {
          { 0.49168, -0.891019998, 1.9943, 0.201669999 },
          { 0.49782136, -0.853034766, 1.827008821, 0.056888865 },
          { 0.422721485, -0.839188574, 1.739836208, 0.236536086 },
          { 0.364813763, -0.702112876, 1.523725688, 0.202899409 },
      } },
    { .settings = NULL },
};

CSE_SAMPLES(optimizer, asgd, samples);
