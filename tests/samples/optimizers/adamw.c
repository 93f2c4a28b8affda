/* Samples of adamw, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/optimizers.py. */
static const cse_optimizer_sample samples[] = {
    { .settings = "{lr: 0.02, eps: 0.0, weight_decay: 0.2}",
      .source = "torch.optim.AdamW in float64",
      .parameters = { { 0.478, -1.016, 1.972, 0.269 },
                      { 0.457012992, -1.025952845, 1.967063271, 0.285834718 },
                      { 0.450330873, -1.016883342, 1.95582025, 0.28733084 },
                      { 0.434691702, -1.008920591, 1.923286317, 0.290439439 } } },
    { .settings = "{lr: 0.02, weight_decay: 0.2, correct_bias: false}",
      .source = "the formula in float64",
      .parameters = { { 0.434771565, -1.059242654, 1.928757138, 0.312240336 },
                      { 0.351980505, -1.114568821, 1.933583467, 0.387102943 },
                      { 0.335330435, -1.101607304, 1.938893339, 0.401408879 },
                      { 0.280165747, -1.132198481, 1.899919538, 0.440177613 } } },
    { .settings = "{lr: 0.02, betas: [0.9, 0.98]}",
      .source = "the formula in float64",
      .parameters = { { 0.480001211, -1.019999795, 1.98000019, 0.269999631 },
                      { 0.460986987, -1.03408406, 1.982948763, 0.287836941 },
                      { 0.457936698, -1.033202601, 1.987457042, 0.29163948 },
                      { 0.449377086, -1.041512638, 1.98601143, 0.299388499 } } },
    { .settings = "{lr: 0.05, eps: 0.01, eps_added_to: corrected, weight_decay: 0.2}",
      .source = "torch.optim.AdamW in float64",
      .parameters = {
          { 0.448943218, -1.03928551, 1.930664011, 0.296228706 },
          { 0.39902703, -1.063231215, 1.918647222, 0.337608022 },
          { 0.38395598, -1.039933348, 1.891355458, 0.340134394 },
          { 0.348972776, -1.018770636, 1.813355965, 0.3454134 },
      } },
    { .settings = "{lr: 0.05, eps: 0.01, eps_added_to: corrected, weight_decay: 0.2, "
                  "maximize: true}",
      .source = "torch.optim.AdamW in float64",
      .parameters = {
          { 0.541056782, -0.94071449, 2.029335989, 0.198771294 },
          { 0.58107297, -0.896968785, 2.001752778, 0.152441978 },
          { 0.57664003, -0.881258672, 1.951028582, 0.140163611 },
          { 0.573771919, -0.826718753, 1.877622812, 0.115958947 },
      } },
    { .settings = "{betas: [0.9, 1.0]}", .refusal = "below 1" },
    { .settings = NULL },
};

CSE_SAMPLES(optimizer, adamw, samples);
