/* AdamW: Adam with decoupled weight decay (Loshchilov, Hutter, "Decoupled weight decay
 * regularization", ICLR 2019):
 *
 *   p = p - lr * (u + weight_decay * p), with u as in engine/nn/optimizers/adam_update.c
 *
 * Differs from PyTorch as cerebras.pytorch does: eps as in adam.c, and weight_decay is 0 unless
 * given (PyTorch: 0.01). The decay uses the parameter before the step, as PyTorch's does. */
#define CSE_ADAM_WEIGHT_DECAY_DOC "fraction of the parameter, times lr, that is taken off each step"
#include "engine/nn/optimizers/adam_update.h"

static const cse_setting settings[] = {
    CSE_LEARNING_RATE_SETTINGS,
    CSE_ADAM_SETTINGS,
    { .name = "correct_bias",
      .type = CSE_SETTING_BOOL,
      .default_value = "true",
      .doc = "correct the bias of moments that start at 0" },
    { .name = NULL },
};

static cse_status check(const cse_settings *s)
{
    return cse_optimizer_check_betas(s, "optimizer AdamW");
}

static int states(const cse_settings *s, cse_shape shape,
                  cse_declared_state list[CSE_MAX_DECLARED_STATES])
{
    (void)shape;
    return cse_adam_states(s, cse_settings_bool(s, "correct_bias"), list);
}

static void update(cse_optimizer_update *u)
{
    bool correct_bias = cse_settings_bool(u->settings, "correct_bias");
    cse_adam_update(
        u, (cse_adam_variant){ .decoupled_weight_decay = true, .correct_bias = correct_bias });
}

const cse_optimizer_descriptor cse_optimizer_adamw = {
    .name = "AdamW",
    .summary = "adaptive moments, decoupled weight decay",
    .settings = settings,
    .default_learning_rate = 1e-3,
    .check = check,
    .states = states,
    .update = update,
};
