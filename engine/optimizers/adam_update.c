/* The update that Adam and AdamW share.
 *
 *   m = beta1 * m + (1 - beta1) * g                      exp_avg
 *   v = beta2 * v + (1 - beta2) * g^2                    exp_avg_sq
 *   u = m / (sqrt(v) + eps) * sqrt(1 - beta2^t) / (1 - beta1^t)
 *   p = p - lr * u
 *
 * Kingma, Ba, "Adam: a method for stochastic optimization", ICLR 2015, in the form of its section 2
 * ("eps hat"): eps is added to the root of the uncorrected v. The powers beta^t are carried as
 * states, so that no step number is needed: they start at beta and are multiplied after use. */
#include "engine/optimizers/adam_update.h"

enum { FIRST_MOMENT, SECOND_MOMENT, REST };

cse_status cse_adam_check(const cse_settings *settings, const char *subject)
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

int cse_adam_states(const cse_settings *settings, bool correct_bias,
                    cse_declared_state list[CSE_MAX_DECLARED_STATES])
{
    int count = 0;
    list[count++] = (cse_declared_state){ .name = "exp_avg" };
    list[count++] = (cse_declared_state){ .name = "exp_avg_sq" };
    if (cse_settings_bool(settings, "amsgrad"))
        list[count++] = (cse_declared_state){ .name = "max_exp_avg_sq" };
    for (int i = 0; correct_bias && i < 2; i++)
        list[count++] =
            (cse_declared_state){ .name = i == 0 ? "beta1_power" : "beta2_power",
                                  .scalar = true,
                                  .initial = cse_settings_number_at(settings, "betas", i) };
    return count;
}

/* beta * moment + (1 - beta) * fresh */
static cse_tensor *average(cse_tensor *moment, cse_tensor *fresh, double beta)
{
    return cse_add(cse_scale(moment, beta), cse_scale(fresh, 1 - beta));
}

/* sqrt(1 - beta2^t) / (1 - beta1^t); also sets the powers for the next step. */
static cse_tensor *bias_correction(cse_optimizer_update *u, int first_power)
{
    cse_tensor *one = cse_constant(1), **powers = u->states + first_power;
    for (int i = 0; i < 2; i++)
        u->next_states[first_power + i] =
            cse_scale(powers[i], cse_settings_number_at(u->settings, "betas", i));
    return cse_div(cse_sqrt(cse_sub(one, powers[1])), cse_sub(one, powers[0]));
}

void cse_adam_update(cse_optimizer_update *u, cse_adam_variant variant)
{
    double weight_decay = cse_settings_number(u->settings, "weight_decay");
    double eps = cse_settings_number(u->settings, "eps");
    cse_tensor *gradient = u->gradient;
    int next = REST;
    if (weight_decay > 0 && !variant.decoupled_weight_decay)
        gradient = cse_add(gradient, cse_scale(u->parameter, weight_decay));
    cse_tensor *first =
        average(u->states[FIRST_MOMENT], gradient, cse_settings_number_at(u->settings, "betas", 0));
    cse_tensor *second = average(u->states[SECOND_MOMENT], cse_square(gradient),
                                 cse_settings_number_at(u->settings, "betas", 1));
    u->next_states[FIRST_MOMENT] = first;
    u->next_states[SECOND_MOMENT] = second;
    if (cse_settings_bool(u->settings, "amsgrad")) {
        second = cse_maximum(u->states[next], second);
        u->next_states[next++] = second;
    }
    cse_tensor *direction = cse_div(first, cse_shift(cse_sqrt(second), eps));
    if (variant.correct_bias)
        direction = cse_mul(direction, bias_correction(u, next));
    if (weight_decay > 0 && variant.decoupled_weight_decay)
        direction = cse_add(direction, cse_scale(u->parameter, weight_decay));
    u->next_parameter = cse_sub(u->parameter, cse_mul(direction, u->learning_rate));
}
