/* SGD: gradient descent, with momentum, dampening, Nesterov's form and weight decay.
 *
 *   g = gradient + weight_decay * p                     (maximize: the gradient with its sign
 * turned) b = momentum * b + (1 - dampening) * g              (momentum > 0; b is momentum_buffer)
 *   g = b, or g + momentum * b with nesterov
 *   p = p - lr * g
 *
 * Sutskever, Martens, Dahl, Hinton, "On the importance of initialization and momentum in deep
 * learning", 2013. Differs from PyTorch in one thing, as the reference does: the buffer starts at
 * 0, so dampening applies to the first step too (PyTorch's first buffer is the gradient itself). */
#include "csengine/generated/ops.h"
#include "engine/optimizers/optimizer.h"

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
    { .name = "maximize",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "climb instead of descending" },
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

static int states(const cse_settings *s, cse_declared_state list[CSE_MAX_DECLARED_STATES])
{
    if (cse_settings_number(s, "momentum") == 0)
        return 0;
    list[0] = (cse_declared_state){ .name = "momentum_buffer" };
    return 1;
}

static void update(cse_optimizer_update *u)
{
    double momentum = cse_settings_number(u->settings, "momentum");
    double dampening = cse_settings_number(u->settings, "dampening");
    double weight_decay = cse_settings_number(u->settings, "weight_decay");
    cse_tensor *gradient = u->gradient;
    if (cse_settings_bool(u->settings, "maximize"))
        gradient = cse_neg(gradient);
    if (weight_decay > 0)
        gradient = cse_add(gradient, cse_scale(u->parameter, weight_decay));
    if (momentum > 0) {
        cse_tensor *fresh = dampening > 0 ? cse_scale(gradient, 1 - dampening) : gradient;
        cse_tensor *buffer = cse_add(cse_scale(u->states[0], momentum), fresh);
        u->next_states[0] = buffer;
        gradient = cse_settings_bool(u->settings, "nesterov")
                       ? cse_add(gradient, cse_scale(buffer, momentum))
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
