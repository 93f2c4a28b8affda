/* Samples of sm3, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/optimizers.py. */
static const cse_optimizer_sample samples[] = {
        { .settings = "{}", .matrix = true,
      .source = "the formula in float64",
      .parameters = {
          { 0.4, -1.1, 1.9, 0.35 },
          { 0.364848988, -1.104214865, 1.977119765, 0.439559786 },
          { 0.409455677, -1.050163282, 1.954300243, 0.339257421 },
          { 0.401885626, -1.069097819, 1.944825004, 0.354747715 },
      } },
    { .settings = "{lr: 0.05, momentum: 0.8, beta: 0.7, eps: 0.01}", .matrix = true,
      .source = "the formula in float64",
      .parameters = {
          { 0.490161109, -1.017649668, 1.982270014, 0.266483061 },
          { 0.475107936, -1.032646095, 1.982903932, 0.296406068 },
          { 0.468602186, -1.032187466, 1.985816035, 0.310234987 },
          { 0.455348834, -1.046474265, 1.978453233, 0.335414793 },
      } },
    { .settings = "{lr: 0.05, momentum: 0.8}",
      .source = "the formula in float64",
      .parameters = {
          { 0.49, -1.01, 1.99, 0.26 },
          { 0.472884081, -1.018421487, 1.989711977, 0.277639552 },
          { 0.463311591, -1.019274479, 1.990224318, 0.288860933 },
          { 0.44785882, -1.027781875, 1.98645817, 0.30523166 },
      } },
    { .settings = "{momentum: 1}", .refusal = "out of range" },
    { .settings = NULL },
};

CSE_SAMPLES(optimizer, sm3, samples);
