/* Adamax: Adam with the infinity norm.
 *
 *   m = beta1 * m + (1 - beta1) * g              exp_avg
 *   n = max(beta2 * n, |g| + eps)                exp_inf
 *   p = p - lr / (1 - beta1^t) * m / n
 *
 * Kingma, Ba, "Adam: a method for stochastic optimization", ICLR 2015, section 7. The state
 * beta1_power starts at beta1 and is multiplied after use. Differs from PyTorch in eps, 1e-6
 * instead of 1e-8. */
#include "csengine/generated/ops.h"
#include "engine/nn/optimizers/rule.h"

static const cse_setting settings[] = {
    CSE_LEARNING_RATE_SETTINGS,
    CSE_OPTIMIZER_BETAS("[0.9, 0.999]"),
    CSE_OPTIMIZER_NUMBER("eps", "1e-6", 0, 1, "added to the size of the gradient"),
    CSE_OPTIMIZER_PENALTY,
    CSE_OPTIMIZER_MAXIMIZE,
    { .name = NULL },
};

static cse_status check(const cse_settings *s)
{
    return cse_optimizer_check_betas(s, "optimizer Adamax");
}

static int states(const cse_settings *s, cse_shape shape,
                  cse_declared_state list[CSE_MAX_DECLARED_STATES])
{
    (void)shape;
    list[0] = (cse_declared_state){ .name = "exp_avg" };
    list[1] = (cse_declared_state){ .name = "exp_inf" };
    list[2] = (cse_declared_state){ .name = "beta1_power",
                                    .scalar = true,
                                    .initial = cse_settings_number_at(s, "betas", 0) };
    return 3;
}

static void update(cse_optimizer_update *u)
{
    const double beta1 = cse_settings_number_at(u->settings, "betas", 0),
                 beta2 = cse_settings_number_at(u->settings, "betas", 1);
    const double eps = cse_settings_number(u->settings, "eps");
    cse_tensor *gradient = cse_optimizer_penalized(u);
    cse_tensor *first = cse_optimizer_average(u->states[0], gradient, beta1);
    cse_tensor *largest =
        cse_maximum(cse_scale(u->states[1], beta2), cse_shift(cse_abs(gradient), eps));
    cse_tensor *bias = cse_sub(cse_constant(1), u->states[2]);
    u->next_states[0] = first;
    u->next_states[1] = largest;
    u->next_states[2] = cse_scale(u->states[2], beta1);
    cse_optimizer_descend(u, cse_div(cse_div(first, largest), bias));
}

/* Written by tests/reference/optimizers.py. */
static const cse_optimizer_sample samples[] = {
        { .settings = "{lr: 0.02}",
      .source = "torch.optim.Adamax in float64",
      .parameters = {
          { 0.480000171, -1.019999971, 1.980000027, 0.269999948 },
          { 0.46520161, -1.029927633, 1.982706156, 0.283141119 },
          { 0.462936222, -1.029151277, 1.986443712, 0.285566105 },
          { 0.456112047, -1.035405105, 1.985353861, 0.291225174 },
      } },
    { .settings = "{lr: 0.02, betas: [0.8, 0.9], eps: 0.01, weight_decay: 0.1, maximize: true}",
      .source = "torch.optim.Adamax in float64",
      .parameters = {
          { 0.517395833, -0.980250063, 2.019638336, 0.230478126 },
          { 0.530728549, -0.968534711, 2.012967418, 0.216892439 },
          { 0.522711256, -0.965511796, 2.001512448, 0.216244554 },
          { 0.513457209, -0.949788813, 1.989260454, 0.208890203 },
      } },
    { .settings = "{betas: 0.9}", .refusal = "a list" },
    { .settings = NULL },
};

const cse_optimizer_descriptor cse_optimizer_adamax = {
    .name = "Adamax",
    .summary = "Adam with the largest gradient in place of the second moment",
    .settings = settings,
    .default_learning_rate = 1e-3,
    .check = check,
    .states = states,
    .update = update,
    .samples = samples,
};
