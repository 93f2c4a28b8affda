/* Adagrad: the learning rate of each element falls with the squares of its gradients.
 *
 *   s = s + g^2                                  sum, starts at initial_accumulator_value
 *   p = p - lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps)
 *
 * where t = 1, 2, ... is the number of the step, in the state `step` (Duchi, Hazan, Singer,
 * "Adaptive subgradient methods", JMLR 2011). Its eps is 1e-6, PyTorch's 1e-10. */
#include "csengine/generated/ops.h"
#include "engine/nn/optimizers/rule.h"

static const cse_setting settings[] = {
    CSE_LEARNING_RATE_SETTINGS,
    CSE_OPTIMIZER_NUMBER("lr_decay", "0.0", 0, 1000000.0,
                         "how fast the learning rate falls by itself"),
    CSE_OPTIMIZER_PENALTY,
    CSE_OPTIMIZER_NUMBER("initial_accumulator_value", "0.0", 0, 1000000.0,
                         "what the sum of squares starts at"),
    CSE_OPTIMIZER_NUMBER("eps", "1e-6", 0, 1, "added to the root of the sum"),
    CSE_OPTIMIZER_MAXIMIZE,
    CSE_OPTIMIZER_MOMENTS,
    { .name = NULL },
};

static int states(const cse_settings *s, cse_shape shape,
                  cse_declared_state list[CSE_MAX_DECLARED_STATES])
{
    (void)shape;
    list[0] = (cse_declared_state){ .name = "step", .scalar = true };
    list[1] =
        (cse_declared_state){ .name = "sum",
                              .moment = CSE_MOMENT_NOT_NEGATIVE,
                              .initial = cse_settings_number(s, "initial_accumulator_value") };
    return 2;
}

static void update(cse_optimizer_update *u)
{
    const double eps = cse_settings_number(u->settings, "eps");
    const double lr_decay = cse_settings_number(u->settings, "lr_decay");
    cse_tensor *gradient = cse_optimizer_penalized(u);
    cse_tensor *before = u->states[0];
    cse_tensor *sum = cse_add(u->states[1], cse_square(gradient));
    cse_tensor *direction = cse_div(gradient, cse_shift(cse_sqrt(sum), eps));
    cse_optimizer_count_step(u, 0);
    u->next_states[1] = sum;
    if (lr_decay > 0)
        direction = cse_div(direction, cse_shift(cse_scale(before, lr_decay), 1));
    cse_optimizer_descend(u, direction);
}

const cse_optimizer_descriptor cse_optimizer_adagrad = {
    .name = "Adagrad",
    .summary = "steps divided by the root of all squared gradients",
    .settings = settings,
    .default_learning_rate = 1e-2,
    .states = states,
    .update = update,
};
