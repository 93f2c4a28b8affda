/* Lion: steps of one size, along the sign of a momentum.
 *
 *   p = p - lr * (sign(beta1 * m + (1 - beta1) * g) + weight_decay * p)
 *   m = beta2 * m + (1 - beta2) * g              exp_avg
 *
 * Chen et al., "Symbolic discovery of optimization algorithms", NeurIPS 2023. */
#include "csengine/generated/ops.h"
#include "engine/nn/optimizers/rule.h"

static const cse_setting settings[] = {
    CSE_LEARNING_RATE_SETTINGS,
    CSE_OPTIMIZER_PAIR("betas", "[0.9, 0.99]", 0, 1,
                       "weight of the momentum in the step, and how much of it is kept"),
    CSE_OPTIMIZER_DECOUPLED_DECAY,
    CSE_OPTIMIZER_MOMENTS,
    { .name = NULL },
};

static cse_status check(const cse_settings *s)
{
    return cse_optimizer_check_betas(s, "optimizer Lion");
}

static int states(const cse_settings *s, cse_shape shape,
                  cse_declared_state list[CSE_MAX_DECLARED_STATES])
{
    (void)s;
    (void)shape;
    int count = 0;
    list[count++] = (cse_declared_state){ .name = "exp_avg", .moment = CSE_MOMENT };
    return count;
}

static void update(cse_optimizer_update *u)
{
    cse_tensor *direction = cse_sign(cse_optimizer_average(
        u->states[0], u->gradient, cse_settings_number_at(u->settings, "betas", 0)));
    direction = cse_optimizer_decayed(u, direction);
    u->next_states[0] = cse_optimizer_average(u->states[0], u->gradient,
                                              cse_settings_number_at(u->settings, "betas", 1));
    cse_optimizer_descend(u, direction);
}

const cse_optimizer_descriptor cse_optimizer_lion = {
    .name = "Lion",
    .summary = "the sign of a momentum",
    .settings = settings,
    .default_learning_rate = 1e-4,
    .check = check,
    .states = states,
    .update = update,
};
