/* Lamb: Adam's direction with the norm of the parameter, for large batches.
 *
 *   m = beta1 * m + (1 - beta1) * g              exp_avg
 *   v = beta2 * v + (1 - beta2) * g^2            exp_avg_sq
 *   u = m / (sqrt(v) + eps) + weight_decay * p
 *   p = p - lr * min(|p|, 10) / |u| * u
 *
 * where |x| is the norm over the whole parameter; the quotient is 1 where a norm is 0, and with
 * `adam` (You et al., "Large batch optimization for deep learning", ICLR 2020). As in
 * cerebras.pytorch the moments are not corrected. */
#include "csengine/generated/ops.h"
#include "engine/nn/optimizers/rule.h"

static const cse_setting settings[] = {
    CSE_LEARNING_RATE_SETTINGS,
    CSE_OPTIMIZER_BETAS("[0.9, 0.999]"),
    CSE_OPTIMIZER_NUMBER("eps", "1e-6", 0, 1, "added to the root of the second moment"),
    CSE_OPTIMIZER_NUMBER("weight_decay", "0.0", 0, 1e6,
                         "this times the parameter is added to the direction"),
    CSE_OPTIMIZER_SWITCH("adam", "false", "without the quotient of norms: for comparison"),
    CSE_OPTIMIZER_MOMENTS,
    { .name = NULL },
};

static cse_status check(const cse_settings *s)
{
    return cse_optimizer_check_betas(s, "optimizer Lamb");
}

static int states(const cse_settings *s, cse_shape shape,
                  cse_declared_state list[CSE_MAX_DECLARED_STATES])
{
    (void)s;
    (void)shape;
    int count = 0;
    list[count++] = (cse_declared_state){ .name = "exp_avg", .moment = CSE_MOMENT };
    list[count++] = (cse_declared_state){ .name = "exp_avg_sq", .moment = CSE_MOMENT_NOT_NEGATIVE };
    return count;
}

static void update(cse_optimizer_update *u)
{
    const double eps = cse_settings_number(u->settings, "eps");
    cse_tensor *zero = cse_constant(0), *one = cse_constant(1);
    cse_tensor *first = cse_optimizer_average(u->states[0], u->gradient,
                                              cse_settings_number_at(u->settings, "betas", 0));
    cse_tensor *second = cse_optimizer_average(u->states[1], cse_square(u->gradient),
                                               cse_settings_number_at(u->settings, "betas", 1));
    cse_tensor *direction = cse_div(first, cse_shift(cse_sqrt(second), eps));
    u->next_states[0] = first;
    u->next_states[1] = second;
    direction = cse_optimizer_decayed(u, direction);
    if (!cse_settings_bool(u->settings, "adam")) {
        cse_tensor *size = cse_minimum(cse_optimizer_norm(u->parameter), cse_constant(10));
        cse_tensor *length = cse_optimizer_norm(direction);
        cse_tensor *both = cse_logical_and(cse_greater(size, zero), cse_greater(length, zero));
        direction = cse_mul(direction, cse_where(both, cse_div(size, length), one));
    }
    cse_optimizer_descend(u, direction);
}

const cse_optimizer_descriptor cse_optimizer_lamb = {
    .name = "Lamb",
    .summary = "Adam's direction, scaled to the size of each parameter",
    .settings = settings,
    .default_learning_rate = 1e-3,
    .check = check,
    .states = states,
    .update = update,
};
