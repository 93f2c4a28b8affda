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
    CSE_OPTIMIZER_MOMENTS,
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
    list[0] = (cse_declared_state){ .name = "exp_avg", .moment = CSE_MOMENT };
    list[1] = (cse_declared_state){ .name = "exp_inf", .moment = CSE_MOMENT_NOT_NEGATIVE };
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

const cse_optimizer_descriptor cse_optimizer_adamax = {
    .name = "Adamax",
    .summary = "Adam with the largest gradient in place of the second moment",
    .settings = settings,
    .default_learning_rate = 1e-3,
    .check = check,
    .states = states,
    .update = update,
};
