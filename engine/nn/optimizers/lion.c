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
    list[count++] = (cse_declared_state){ .name = "exp_avg" };
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

/* Written by tests/reference/optimizers.py. */
static const cse_optimizer_sample samples[] = {
        { .settings = "{lr: 0.05}",
      .source = "the formula in float64",
      .parameters = {
          { 0.45, -1.05, 1.95, 0.3 },
          { 0.4, -1.1, 2.0, 0.35 },
          { 0.5, -1.1, 2.0, 0.25 },
          { 0.5, -1.1, 2.0, 0.25 },
      } },
    { .settings = "{lr: 0.05, betas: [0.7, 0.8], weight_decay: 0.2}",
      .source = "the formula in float64",
      .parameters = {
          { 0.445, -1.04, 1.93, 0.2975 },
          { 0.39055, -1.0796, 1.9607, 0.344525 },
          { 0.482278055, -1.05861596, 1.92118207, 0.337168952 },
          { 0.465254425, -1.016912217, 1.845469881, 0.3219031 },
      } },
    { .settings = "{betas: [0.9]}", .refusal = "two numbers" },
    { .settings = NULL },
};

const cse_optimizer_descriptor cse_optimizer_lion = {
    .name = "Lion",
    .summary = "the sign of a momentum",
    .settings = settings,
    .default_learning_rate = 1e-4,
    .check = check,
    .states = states,
    .update = update,
    .samples = samples,
};
