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
    list[BUFFER] = (cse_declared_state){ .name = "momentum_buffer" };
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

/* Written by tests/reference/optimizers.py. */
static const cse_optimizer_sample samples[] = {
    { .settings = "{lr: 0.1}",
      .source = "torch.optim.SGD in float64",
      .parameters = { { 0.48832, -1.06898, 1.9257, 0.28833 },
                      { 0.46242, -1.07189, 2.01571, 0.4272 },
                      { 0.50195, -1.01722, 1.96364, 0.23331 },
                      { 0.49869, -1.04031, 1.93638, 0.24263 } } },
    { .settings = "{learning_rate: 0.1, momentum: 0.9}",
      .source = "torch.optim.SGD in float64",
      .parameters = { { 0.48832, -1.06898, 1.9257, 0.28833 },
                      { 0.451908, -1.133972, 1.94884, 0.461697 },
                      { 0.44569748, -1.12768132, 1.9823384, 0.49755657 },
                      { 0.408956277, -1.220078144, 1.960220904, 0.662959376 } } },
    { .settings = "{lr: 0.05, momentum: 0.8, nesterov: true, weight_decay: 0.1}",
      .source = "torch.optim.SGD in float64",
      .parameters = { { 0.484988, -1.053082, 1.91513, 0.282247 },
                      { 0.451975508, -1.065096862, 1.94872683, 0.416155377 },
                      { 0.458462637, -0.994325744, 1.874024242, 0.304147036 },
                      { 0.41391131, -0.944874064, 1.700193542, 0.310561852 } } },
    { .settings = "{lr: 0.1, maximize: true}",
      .source = "torch.optim.SGD in float64",
      .parameters = { { 0.51168, -0.93102, 2.0743, 0.21167 },
                      { 0.53758, -0.92811, 1.98429, 0.0728 },
                      { 0.49805, -0.98278, 2.03636, 0.26669 },
                      { 0.50131, -0.95969, 2.06362, 0.25737 } } },
    { .settings = "{lr: 0.1, momentum: 0.9, dampening: 0.3}",
      .source = "the formula in float64",
      .parameters = { { 0.491824, -1.048286, 1.94799, 0.276831 },
                      { 0.4663356, -1.0937804, 1.964188, 0.3981879 },
                      { 0.461988236, -1.089376924, 1.98763688, 0.423289599 },
                      { 0.436269394, -1.154054701, 1.972154633, 0.539071563 } } },
    { .settings = "{lr: 0.1, momentum: 0.9, dampening: 0.3, dampen_first_step: false, "
                  "maximize: true}",
      .source = "torch.optim.SGD in float64",
      .parameters = {
          { 0.51168, -0.93102, 2.0743, 0.21167 },
          { 0.540322, -0.866901, 2.078163, 0.079964 },
          { 0.55006202, -0.83945641, 2.08901843, 0.03716534 },
          { 0.583687035, -0.728086184, 2.154794226, -0.104562138 },
      } },
    { .settings = "{lr: 0.1, learning_rate: 0.1}", .refusal = "mean the same" },
    { .settings = "{lr: -1}", .refusal = "out of range" },
    { .settings = "{lr: 0.1, nesterov: true}", .refusal = "needs a momentum" },
    { .settings = "{lr: 0.1, momentum: 0.5, dampening: 0.1, nesterov: true}",
      .refusal = "dampening of 0" },
    { .settings = NULL },
};

const cse_optimizer_descriptor cse_optimizer_sgd = {
    .name = "SGD",
    .summary = "gradient descent with momentum",
    .settings = settings,
    .check = check,
    .states = states,
    .update = update,
    .samples = samples,
};
