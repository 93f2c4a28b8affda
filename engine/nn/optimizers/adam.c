/* Adam: step sizes adapted to running moments of the gradient; weight decay is an L2 penalty. See
 * engine/nn/optimizers/adam_update.c for the formula.
 *
 * Differs from PyTorch as cerebras.pytorch does: eps is 1e-6 and is added to the root of the second
 * moment before its bias is corrected (PyTorch: 1e-8, after). With eps 0 both give the same steps,
 * and with `eps_added_to: corrected` and PyTorch's eps too. */
#define CSE_ADAM_WEIGHT_DECAY_DOC "L2 penalty: this times the parameter is added to its gradient"
#include "engine/nn/optimizers/adam_update.h"

static const cse_setting settings[] = {
    CSE_LEARNING_RATE_SETTINGS,
    CSE_ADAM_SETTINGS,
    CSE_OPTIMIZER_DECOUPLED,
    { .name = "correct_bias",
      .type = CSE_SETTING_BOOL,
      .default_value = "true",
      .doc = "true: the bias of moments that start at 0 is always corrected" },
    { .name = NULL },
};

static cse_status check(const cse_settings *s)
{
    if (!cse_settings_bool(s, "correct_bias"))
        return cse_fail(
            CSE_CONFIG,
            "optimizer Adam: %s: correct_bias is false; accepted: true, which AdamW has "
            "as a choice",
            cse_settings_origin(s, "correct_bias"));
    return cse_optimizer_check_betas(s, "optimizer Adam");
}

static int states(const cse_settings *s, cse_shape shape,
                  cse_declared_state list[CSE_MAX_DECLARED_STATES])
{
    (void)shape;
    return cse_adam_states(s, true, list);
}

static void update(cse_optimizer_update *u)
{
    bool decoupled = cse_settings_bool(u->settings, "decoupled_weight_decay");
    cse_adam_update(
        u, (cse_adam_variant){ .decoupled_weight_decay = decoupled, .correct_bias = true });
}

const cse_optimizer_descriptor cse_optimizer_adam = {
    .name = "Adam",
    .summary = "adaptive moments, L2 weight decay",
    .settings = settings,
    .default_learning_rate = 1e-3,
    .check = check,
    .states = states,
    .update = update,
};
