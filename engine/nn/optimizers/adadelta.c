/* Adadelta: the step has the size of the steps so far, relative to that of the gradients so far.
 *
 *   s = rho * s + (1 - rho) * g^2                square_avg
 *   d = sqrt(a + eps) / sqrt(s + eps) * g
 *   a = rho * a + (1 - rho) * d^2                acc_delta
 *   p = p - lr * d
 *
 * Zeiler, "ADADELTA: an adaptive learning rate method", 2012. */
#include "csengine/generated/ops.h"
#include "engine/nn/optimizers/rule.h"

static const cse_setting settings[] = {
    CSE_LEARNING_RATE_SETTINGS,
    CSE_OPTIMIZER_NUMBER("rho", "0.9", 0, 1, "fraction of both averages that is kept"),
    CSE_OPTIMIZER_NUMBER("eps", "1e-6", 0, 1, "added below both roots"),
    CSE_OPTIMIZER_PENALTY,
    CSE_OPTIMIZER_MAXIMIZE,
    CSE_OPTIMIZER_MOMENTS,
    { .name = NULL },
};

static int states(const cse_settings *s, cse_shape shape,
                  cse_declared_state list[CSE_MAX_DECLARED_STATES])
{
    (void)s;
    (void)shape;
    int count = 0;
    list[count++] = (cse_declared_state){ .name = "square_avg", .moment = CSE_MOMENT_NOT_NEGATIVE };
    list[count++] = (cse_declared_state){ .name = "acc_delta", .moment = CSE_MOMENT_NOT_NEGATIVE };
    return count;
}

static void update(cse_optimizer_update *u)
{
    const double rho = cse_settings_number(u->settings, "rho");
    const double eps = cse_settings_number(u->settings, "eps");
    cse_tensor *gradient = cse_optimizer_penalized(u);
    cse_tensor *squares = cse_optimizer_average(u->states[0], cse_square(gradient), rho);
    cse_tensor *ratio =
        cse_div(cse_sqrt(cse_shift(u->states[1], eps)), cse_sqrt(cse_shift(squares, eps)));
    cse_tensor *delta = cse_mul(ratio, gradient);
    u->next_states[0] = squares;
    u->next_states[1] = cse_optimizer_average(u->states[1], cse_square(delta), rho);
    cse_optimizer_descend(u, delta);
}

const cse_optimizer_descriptor cse_optimizer_adadelta = {
    .name = "Adadelta",
    .summary = "steps scaled by their own running size",
    .settings = settings,
    .default_learning_rate = 1,
    .states = states,
    .update = update,
};
