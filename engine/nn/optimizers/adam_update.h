/* What Adam and AdamW share: moments, bias correction and settings. */
#ifndef CSE_OPTIMIZERS_ADAM_UPDATE_H
#define CSE_OPTIMIZERS_ADAM_UPDATE_H

#include "csengine/generated/ops.h"
#include "engine/nn/optimizers/rule.h"

/* Settings of both optimizers, with the defaults of cerebras.pytorch. */
#define CSE_ADAM_SETTINGS                                                              \
    { .name = "betas",                                                                 \
      .type = CSE_SETTING_NUMBER_LIST,                                                 \
      .default_value = "[0.9, 0.999]",                                                 \
      .min = 0,                                                                        \
      .max = 1,                                                                        \
      .doc = "how much of the first and of the second moment is kept, each below 1" }, \
        { .name = "eps",                                                               \
          .type = CSE_SETTING_NUMBER,                                                  \
          .default_value = "1e-6",                                                     \
          .min = 0,                                                                    \
          .max = 1,                                                                    \
          .doc = "added to the root of the second moment" },                           \
        { .name = "eps_added_to",                                                      \
          .type = CSE_SETTING_CHOICE,                                                  \
          .default_value = "uncorrected",                                              \
          .choices = "uncorrected|corrected",                                          \
          .doc = "which second moment's root gets eps: that of cerebras.pytorch, "     \
                 "before its bias is corrected, or PyTorch's, after" },                \
        { .name = "weight_decay",                                                      \
          .type = CSE_SETTING_NUMBER,                                                  \
          .default_value = "0.0",                                                      \
          .min = 0,                                                                    \
          .max = 1e6,                                                                  \
          .doc = CSE_ADAM_WEIGHT_DECAY_DOC },                                          \
        { .name = "amsgrad",                                                           \
          .type = CSE_SETTING_BOOL,                                                    \
          .default_value = "false",                                                    \
          .doc = "divide by the greatest second moment so far" },                      \
        CSE_OPTIMIZER_MAXIMIZE, CSE_OPTIMIZER_MOMENTS

/* Where Adam and AdamW differ. */
typedef struct cse_adam_variant {
    bool decoupled_weight_decay; /* decay the parameter itself, not through the gradient */
    bool correct_bias;
} cse_adam_variant;

int cse_adam_states(const cse_settings *settings, bool correct_bias,
                    cse_declared_state list[CSE_MAX_DECLARED_STATES]);
void cse_adam_update(cse_optimizer_update *update, cse_adam_variant variant);

#endif
