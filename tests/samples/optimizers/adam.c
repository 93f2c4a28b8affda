/* Samples of adam, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/optimizers.py. */
static const cse_optimizer_sample samples[] = {
    { .settings = "{lr: 0.01, eps: 0.0}",
      .source = "torch.optim.Adam in float64",
      .parameters = { { 0.49, -1.01, 1.99, 0.26 },
                      { 0.480462496, -1.017008422, 1.991475636, 0.268955359 },
                      { 0.478934943, -1.016566347, 1.993721076, 0.270857397 },
                      { 0.4746482, -1.020716051, 1.993000389, 0.274740774 } } },
    { .settings = "{lr: 0.02, betas: [0.8, 0.99], eps: 0.0, weight_decay: 0.1, amsgrad: true}",
      .source = "torch.optim.Adam in float64",
      .parameters = { { 0.48, -1.02, 1.98, 0.27 },
                      { 0.460218483, -1.030574112, 1.979300476, 0.288354954 },
                      { 0.451919516, -1.019172138, 1.974551445, 0.287927176 },
                      { 0.430149785, -1.009613273, 1.953680077, 0.29079669 } } },
    { .settings = "{eps: 0.01}",
      .source = "the formula in float64",
      .parameters = { { 0.499730271, -1.000685667, 1.999298546, 0.250547941 },
                      { 0.499278922, -1.00116627, 1.999414646, 0.251282279 },
                      { 0.499204886, -1.0011329, 1.999589456, 0.251437736 },
                      { 0.498949989, -1.001461251, 1.999529609, 0.251779299 } } },
    { .settings = "{lr: 0.05, eps: 0.01, eps_added_to: corrected}",
      .source = "torch.optim.Adam in float64",
      .parameters = {
          { 0.453943218, -1.04928551, 1.950664011, 0.298728706 },
          { 0.408516463, -1.083624071, 1.957953862, 0.343070309 },
          { 0.401256555, -1.081448544, 1.969021195, 0.352474927 },
          { 0.380830511, -1.101808396, 1.965468049, 0.371701185 },
      } },
    { .settings = "{lr: 0.05, eps: 1e-8, eps_added_to: corrected, amsgrad: true, weight_decay: "
                  "0.1}",
      .source = "torch.optim.Adam in float64",
      .parameters = {
          { 0.450000003, -1.049999999, 1.950000001, 0.299999999 },
          { 0.401267091, -1.078477387, 1.945460899, 0.344517017 },
          { 0.374117583, -1.056785486, 1.932583001, 0.351012038 },
          { 0.317950292, -1.037233027, 1.881583357, 0.363971273 },
      } },
    { .settings = "{lr: 0.05, eps: 0.01, eps_added_to: corrected, weight_decay: 0.2, "
                  "decoupled_weight_decay: true, maximize: true}",
      .source = "torch.optim.Adam in float64",
      .parameters = {
          { 0.541056782, -0.94071449, 2.029335989, 0.198771294 },
          { 0.58107297, -0.896968785, 2.001752778, 0.152441978 },
          { 0.57664003, -0.881258672, 1.951028582, 0.140163611 },
          { 0.573771919, -0.826718753, 1.877622812, 0.115958947 },
      } },
    { .settings = "{lr: 0.05, eps: 0.01, eps_added_to: corrected, weight_decay: 0.2, "
                  "maximize: true}",
      .source = "torch.optim.Adam in float64",
      .parameters = {
          { 0.531343284, -0.950555679, 2.048583569, 0.201127904 },
          { 0.568563678, -0.909751809, 2.021356761, 0.156228092 },
          { 0.528057221, -0.879752547, 1.969817106, 0.143267633 },
          { 0.455587691, -0.800434981, 1.883273797, 0.118121659 },
      } },
    { .settings = "{betas: [0.9]}", .refusal = "two numbers" },
    { .settings = "{correct_bias: false}", .refusal = "accepted: true" },
    { .settings = "{momentum: 0.9}", .refusal = "unknown setting" },
    { .settings = NULL },
};

CSE_SAMPLES(optimizer, adam, samples);
