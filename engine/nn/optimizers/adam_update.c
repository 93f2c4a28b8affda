/* The update that Adam and AdamW share.
 *
 *   m = beta1 * m + (1 - beta1) * g                      exp_avg
 *   v = beta2 * v + (1 - beta2) * g^2                    exp_avg_sq
 *   u = m / (sqrt(v) + eps) * sqrt(1 - beta2^t) / (1 - beta1^t)
 *   p = p - lr * u
 *
 * Kingma, Ba, "Adam: a method for stochastic optimization", ICLR 2015, in the form of its section 2
 * ("eps hat"): eps is added to the root of the uncorrected v. In that of the algorithm's box, which
 * is PyTorch's and chosen by `eps_added_to: corrected`:
 *
 *   u = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps)
 *
 * The powers beta^t are carried as states, so that no step number is needed: they start at beta and
 * are multiplied after use. The t that they stand for gives 1 - beta^t without cancellation. */
#include "engine/nn/optimizers/adam_update.h"

#include <string.h>

enum { FIRST_MOMENT, SECOND_MOMENT, REST };

int cse_adam_states(const cse_settings *settings, bool correct_bias,
                    cse_declared_state list[CSE_MAX_DECLARED_STATES])
{
    int count = 0;
    list[count++] = (cse_declared_state){ .name = "exp_avg", .moment = CSE_MOMENT };
    list[count++] = (cse_declared_state){ .name = "exp_avg_sq", .moment = CSE_MOMENT_NOT_NEGATIVE };
    if (cse_settings_bool(settings, "amsgrad"))
        list[count++] =
            (cse_declared_state){ .name = "max_exp_avg_sq", .moment = CSE_MOMENT_NOT_NEGATIVE };
    for (int i = 0; correct_bias && i < 2; i++)
        list[count++] =
            (cse_declared_state){ .name = i == 0 ? "beta1_power" : "beta2_power",
                                  .scalar = true,
                                  .initial = cse_settings_number_at(settings, "betas", i) };
    return count;
}

/* 1 - beta1^t and sqrt(1 - beta2^t); also sets the powers for the next step. */
static void bias_of(cse_optimizer_update *u, int first_power, cse_tensor *bias[2])
{
    cse_tensor **powers = u->states + first_power;
    for (int i = 0; i < 2; i++) {
        const double beta = cse_settings_number_at(u->settings, "betas", i);
        u->next_states[first_power + i] = cse_scale(powers[i], beta);
        bias[i] = cse_optimizer_bias_of_power(powers[i], beta);
    }
    bias[1] = cse_sqrt(bias[1]);
}

/* u of the formulas above. */
static cse_tensor *corrected_direction(cse_optimizer_update *u, int first_power, cse_tensor *first,
                                       cse_tensor *root)
{
    const double eps = cse_settings_number(u->settings, "eps");
    cse_tensor *bias[2];
    bias_of(u, first_power, bias);
    if (strcmp(cse_settings_text(u->settings, "eps_added_to"), "corrected") == 0)
        return cse_div(cse_div(first, bias[0]), cse_shift(cse_div(root, bias[1]), eps));
    return cse_mul(cse_div(first, cse_shift(root, eps)), cse_div(bias[1], bias[0]));
}

void cse_adam_update(cse_optimizer_update *u, cse_adam_variant variant)
{
    double eps = cse_settings_number(u->settings, "eps");
    cse_tensor *gradient =
        variant.decoupled_weight_decay ? cse_optimizer_gradient(u) : cse_optimizer_penalized(u);
    int next = REST;
    cse_tensor *first = cse_optimizer_average(u->states[FIRST_MOMENT], gradient,
                                              cse_settings_number_at(u->settings, "betas", 0));
    cse_tensor *second = cse_optimizer_average(u->states[SECOND_MOMENT], cse_square(gradient),
                                               cse_settings_number_at(u->settings, "betas", 1));
    u->next_states[FIRST_MOMENT] = first;
    u->next_states[SECOND_MOMENT] = second;
    if (cse_settings_bool(u->settings, "amsgrad")) {
        second = cse_maximum(u->states[next], second);
        u->next_states[next++] = second;
    }
    cse_tensor *root = cse_sqrt(second);
    cse_tensor *direction = variant.correct_bias ? corrected_direction(u, next, first, root)
                                                 : cse_div(first, cse_shift(root, eps));
    if (variant.decoupled_weight_decay)
        direction = cse_optimizer_decayed(u, direction);
    u->next_parameter = cse_sub(u->parameter, cse_mul(direction, u->learning_rate));
}
