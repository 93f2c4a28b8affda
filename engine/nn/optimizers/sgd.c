/* SGD: gradient descent, with momentum, dampening, Nesterov's form and weight decay.
 *
 *   g = gradient + weight_decay * p           (with maximize: -gradient + weight_decay * p)
 *   b = momentum * b + (1 - dampening) * g    (with momentum > 0; b is momentum_buffer)
 *   g = b, or g + momentum * b with nesterov
 *   p = p - lr * g
 *
 * Sutskever, Martens, Dahl, Hinton, "On the importance of initialization and momentum in deep
 * learning", 2013. Differs from PyTorch in one thing, as cerebras.pytorch does: the buffer starts
 * at 0, so dampening applies to the first step too. PyTorch's first buffer is the gradient, as here
 * with `dampen_first_step: false`. */
#include "csengine/generated/ops.h"
#include "engine/nn/optimizers/rule.h"

static const cse_setting settings[] = {
    CSE_LEARNING_RATE_SETTINGS,
    { .name = "momentum",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0.0",
      .min = 0,
      .max = 1,
      .doc = "fraction of the buffer that is kept" },
    { .name = "dampening",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0.0",
      .min = 0,
      .max = 1,
      .doc = "fraction of the gradient that does not enter the buffer" },
    { .name = "weight_decay",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0.0",
      .min = 0,
      .max = 1e6,
      .doc = "L2 penalty: this times the parameter is added to its gradient" },
    { .name = "nesterov",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "look ahead along the buffer; needs momentum and no dampening" },
    CSE_OPTIMIZER_SWITCH("dampen_first_step", "true",
                         "dampening applies to the first step, too; false: the first gradient "
                         "enters the buffer in whole, as in PyTorch"),
    CSE_OPTIMIZER_MAXIMIZE,
    CSE_OPTIMIZER_MOMENTS,
    { .name = NULL },
};

static cse_status check(const cse_settings *s)
{
    bool plain = cse_settings_number(s, "momentum") > 0 && cse_settings_number(s, "dampening") == 0;
    if (cse_settings_bool(s, "nesterov") && !plain)
        return cse_fail(
            CSE_CONFIG,
            "optimizer SGD: nesterov (%s) needs a momentum above 0 and a dampening of 0",
            cse_settings_origin(s, "nesterov"));
    return CSE_OK;
}

enum { BUFFER, STEP };

/* Whether the first step is told from the others. */
static bool counts_steps(const cse_settings *s)
{
    return cse_settings_number(s, "momentum") > 0 && cse_settings_number(s, "dampening") > 0 &&
           !cse_settings_bool(s, "dampen_first_step");
}

static int states(const cse_settings *s, cse_shape shape,
                  cse_declared_state list[CSE_MAX_DECLARED_STATES])
{
    (void)shape;
    if (cse_settings_number(s, "momentum") == 0)
        return 0;
    list[BUFFER] = (cse_declared_state){ .name = "momentum_buffer", .moment = CSE_MOMENT };
    if (!counts_steps(s))
        return 1;
    list[STEP] = (cse_declared_state){ .name = "step", .scalar = true };
    return 2;
}

static void update(cse_optimizer_update *u)
{
    double momentum = cse_settings_number(u->settings, "momentum");
    double dampening = cse_settings_number(u->settings, "dampening");
    cse_tensor *gradient = cse_optimizer_penalized(u);
    if (momentum > 0) {
        cse_tensor *fresh = dampening > 0 ? cse_scale(gradient, 1 - dampening) : gradient;
        if (counts_steps(u->settings)) {
            cse_tensor *is_first = cse_equal(u->states[STEP], cse_constant(0));
            fresh = cse_where(is_first, gradient, fresh);
            cse_optimizer_count_step(u, STEP);
        }
        cse_tensor *buffer = cse_add(cse_optimizer_with_momentum(u, u->states[BUFFER]), fresh);
        u->next_states[BUFFER] = buffer;
        gradient = cse_settings_bool(u->settings, "nesterov")
                       ? cse_add(gradient, cse_optimizer_with_momentum(u, buffer))
                       : buffer;
    }
    u->next_parameter = cse_sub(u->parameter, cse_mul(gradient, u->learning_rate));
}

const cse_optimizer_descriptor cse_optimizer_sgd = {
    .name = "SGD",
    .summary = "gradient descent with momentum",
    .settings = settings,
    .check = check,
    .states = states,
    .update = update,
};
