/* NAdam: Adam with Nesterov's momentum, whose weight mu rises over the steps.
 *
 *   mu(t) = beta1 * (1 - 0.5 * 0.96^(t * momentum_decay))
 *   M = M * mu(t)                                mu_product, starts at 1
 *   m = beta1 * m + (1 - beta1) * g              exp_avg
 *   v = beta2 * v + (1 - beta2) * g^2            exp_avg_sq
 *   d = sqrt(v / (1 - beta2^t)) + eps
 *   p = p - lr * ((1 - mu(t)) / (1 - M) * g + mu(t + 1) / (1 - M * mu(t + 1)) * m) / d
 *
 * where t = 1, 2, ... is the number of the step, in the state `step` (Dozat, "Incorporating
 * Nesterov momentum into Adam", 2016). cerebras.pytorch multiplies the last divisor by mu(t + 1)
 * once more; this is the formula of the paper and of PyTorch. */
#include "csengine/generated/ops.h"
#include "engine/nn/optimizers/rule.h"

static const cse_setting settings[] = {
    CSE_LEARNING_RATE_SETTINGS,
    CSE_OPTIMIZER_BETAS("[0.9, 0.999]"),
    CSE_OPTIMIZER_NUMBER("eps", "1e-8", 0, 1, "added to the root of the corrected second moment"),
    CSE_OPTIMIZER_PENALTY,
    CSE_OPTIMIZER_DECOUPLED,
    CSE_OPTIMIZER_MAXIMIZE,
    CSE_OPTIMIZER_NUMBER("momentum_decay", "4e-3", 0, 1e6, "how fast the momentum rises to beta1"),
    CSE_OPTIMIZER_MOMENTS,
    { .name = NULL },
};

static cse_status check(const cse_settings *s)
{
    return cse_optimizer_check_betas(s, "optimizer NAdam");
}

static int states(const cse_settings *s, cse_shape shape,
                  cse_declared_state list[CSE_MAX_DECLARED_STATES])
{
    (void)s;
    (void)shape;
    int count = 0;
    list[count++] = (cse_declared_state){ .name = "step", .scalar = true };
    list[count++] = (cse_declared_state){ .name = "mu_product", .scalar = true, .initial = 1 };
    list[count++] = (cse_declared_state){ .name = "exp_avg", .moment = CSE_MOMENT };
    list[count++] = (cse_declared_state){ .name = "exp_avg_sq", .moment = CSE_MOMENT_NOT_NEGATIVE };
    return count;
}

enum { STEP, PRODUCT, FIRST, SECOND };

/* mu(t) */
static cse_tensor *momentum_at(const cse_optimizer_update *u, cse_tensor *t)
{
    const double decay = cse_settings_number(u->settings, "momentum_decay");
    const double beta1 = cse_settings_number_at(u->settings, "betas", 0);
    cse_tensor *power = cse_pow(cse_constant(0.96), cse_scale(t, decay));
    return cse_scale(cse_shift(cse_scale(power, -0.5), 1), beta1);
}

static void update(cse_optimizer_update *u)
{
    const double beta1 = cse_settings_number_at(u->settings, "betas", 0),
                 beta2 = cse_settings_number_at(u->settings, "betas", 1);
    const double eps = cse_settings_number(u->settings, "eps");
    cse_tensor *step = cse_optimizer_count_step(u, STEP), *one = cse_constant(1);
    const bool decoupled = cse_settings_bool(u->settings, "decoupled_weight_decay");
    cse_tensor *gradient = decoupled ? cse_optimizer_gradient(u) : cse_optimizer_penalized(u);
    cse_tensor *now = momentum_at(u, step), *then = momentum_at(u, cse_shift(step, 1));
    cse_tensor *product = cse_mul(u->states[PRODUCT], now);
    cse_tensor *first = cse_optimizer_average(u->states[FIRST], gradient, beta1);
    cse_tensor *second = cse_optimizer_average(u->states[SECOND], cse_square(gradient), beta2);
    u->next_states[PRODUCT] = product;
    u->next_states[FIRST] = first;
    u->next_states[SECOND] = second;
    cse_tensor *root = cse_sqrt(cse_div(second, cse_optimizer_bias(step, beta2)));
    cse_tensor *of_gradient = cse_div(cse_sub(one, now), cse_sub(one, product));
    cse_tensor *of_moment = cse_div(then, cse_sub(one, cse_mul(product, then)));
    cse_tensor *sum = cse_add(cse_mul(gradient, of_gradient), cse_mul(first, of_moment));
    cse_tensor *direction = cse_div(sum, cse_shift(root, eps));
    cse_optimizer_descend(u, decoupled ? cse_optimizer_decayed(u, direction) : direction);
}

const cse_optimizer_descriptor cse_optimizer_nadam = {
    .name = "NAdam",
    .summary = "Adam with Nesterov's momentum",
    .settings = settings,
    .default_learning_rate = 2e-3,
    .check = check,
    .states = states,
    .update = update,
};
