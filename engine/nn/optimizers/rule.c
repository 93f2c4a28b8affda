/* Parts of the formulas of optimizers. */
#include "engine/nn/optimizers/rule.h"

#include <math.h>

#include "csengine/generated/ops.h"

cse_status cse_optimizer_check_betas(const cse_settings *settings, const char *subject)
{
    bool fits = cse_settings_count(settings, "betas") == 2;
    for (int i = 0; fits && i < 2; i++)
        fits = cse_settings_number_at(settings, "betas", i) < 1;
    if (!fits)
        return cse_fail(CSE_CONFIG,
                        "%s: betas (%s) must be two numbers, each at least 0 and below 1", subject,
                        cse_settings_origin(settings, "betas"));
    return CSE_OK;
}

double cse_optimizer_rate_or(const cse_settings *settings, double value)
{
    if (cse_settings_has(settings, "lr"))
        return cse_settings_number(settings, "lr");
    if (cse_settings_has(settings, "learning_rate"))
        return cse_settings_number(settings, "learning_rate");
    return value;
}

cse_tensor *cse_optimizer_gradient(const cse_optimizer_update *u)
{
    return cse_settings_bool(u->settings, "maximize") ? cse_neg(u->gradient) : u->gradient;
}

cse_tensor *cse_optimizer_penalized(const cse_optimizer_update *u)
{
    return cse_optimizer_decayed(u, cse_optimizer_gradient(u));
}

cse_tensor *cse_optimizer_decayed(const cse_optimizer_update *u, cse_tensor *x)
{
    const double weight_decay = cse_settings_number(u->settings, "weight_decay");
    if (u->weight_decay != NULL)
        return cse_add(x, cse_mul(u->parameter, u->weight_decay));
    return weight_decay > 0 ? cse_add(x, cse_scale(u->parameter, weight_decay)) : x;
}

cse_tensor *cse_optimizer_with_momentum(const cse_optimizer_update *u, cse_tensor *x)
{
    return u->momentum != NULL ? cse_mul(x, u->momentum)
                               : cse_scale(x, cse_settings_number(u->settings, "momentum"));
}

cse_tensor *cse_optimizer_average(cse_tensor *moment, cse_tensor *fresh, double beta)
{
    return cse_add(cse_scale(moment, beta), cse_scale(fresh, 1 - beta));
}

cse_tensor *cse_optimizer_count_step(cse_optimizer_update *u, int index)
{
    return u->next_states[index] = cse_shift(u->states[index], 1);
}

cse_tensor *cse_optimizer_bias(cse_tensor *t, double beta)
{
    if (beta == 0)
        return cse_constant(1);
    return cse_neg(cse_expm1(cse_scale(t, log(beta))));
}

/* 1 - power would be off by as much of itself as float32 rounds beta, over 1 - beta: 1.3e-5 for
 * beta 0.999 at the first step. The logarithm gives back the whole number t, by the beta that the
 * power was made with; a power too small for float32 has the bias 1. */
cse_tensor *cse_optimizer_bias_of_power(cse_tensor *power, double beta)
{
    const double rounded = (double)(float)beta;
    if (rounded <= 0 || rounded >= 1)
        return cse_sub(cse_constant(1), power);
    cse_tensor *logarithm = cse_log(cse_maximum(power, cse_constant(1e-37)));
    return cse_optimizer_bias(cse_round(cse_scale(logarithm, 1 / log(rounded))), beta);
}

void cse_optimizer_descend(cse_optimizer_update *u, cse_tensor *direction)
{
    u->next_parameter = cse_sub(u->parameter, cse_mul(direction, u->learning_rate));
}

cse_tensor *cse_optimizer_norm(cse_tensor *x)
{
    return cse_sqrt(cse_sum_all(cse_square(x)));
}
