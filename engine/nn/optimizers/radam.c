/* RAdam: Adam, rectified: as long as few gradients stand behind the second moment it is left out,
 * then its step is made smaller by r.
 *
 *   m = beta1 * m + (1 - beta1) * g              exp_avg
 *   v = beta2 * v + (1 - beta2) * g^2            exp_avg_sq
 *   R = 2 / (1 - beta2) - 1
 *   rho = R - 2 * t * beta2^t / (1 - beta2^t)
 *   r = sqrt((rho - 4) * (rho - 2) * R / ((R - 4) * (R - 2) * rho))
 *   u = r * sqrt(1 - beta2^t) / (sqrt(v) + eps) where rho > 5, else 1
 *   p = p - lr * m / (1 - beta1^t) * u
 *
 * where t = 1, 2, ... is the number of the step, in the state `step` (Liu et al., "On the variance
 * of the adaptive learning rate and beyond", ICLR 2020). Differs from PyTorch in eps, 1e-6 instead
 * of 1e-8.
 *
 * In the first steps rho is the small difference of two large numbers. With x = -t * ln(beta2) and
 *
 *   h(x) = 1 / (e^x - 1) - 1 / x + 1 / 2 = x / 12 - x^3 / 720 + x^5 / 30240 - x^7 / 1209600 + ...
 *
 * it is (R + 2 / ln(beta2)) + t - 2 * t * h(x), which has no such difference. */
#include <math.h>

#include "csengine/generated/ops.h"
#include "engine/nn/optimizers/rule.h"

static const cse_setting settings[] = {
    CSE_LEARNING_RATE_SETTINGS,
    CSE_OPTIMIZER_BETAS("[0.9, 0.999]"),
    CSE_OPTIMIZER_NUMBER("eps", "1e-6", 0, 1, "added to the root of the second moment"),
    CSE_OPTIMIZER_PENALTY,
    CSE_OPTIMIZER_DECOUPLED,
    CSE_OPTIMIZER_MAXIMIZE,
    CSE_OPTIMIZER_MOMENTS,
    { .name = NULL },
};

static cse_status check(const cse_settings *s)
{
    return cse_optimizer_check_betas(s, "optimizer RAdam");
}

static int states(const cse_settings *s, cse_shape shape,
                  cse_declared_state list[CSE_MAX_DECLARED_STATES])
{
    (void)s;
    (void)shape;
    int count = 0;
    list[count++] = (cse_declared_state){ .name = "step", .scalar = true };
    list[count++] = (cse_declared_state){ .name = "exp_avg", .moment = CSE_MOMENT };
    list[count++] = (cse_declared_state){ .name = "exp_avg_sq", .moment = CSE_MOMENT_NOT_NEGATIVE };
    return count;
}

enum { STEP, FIRST, SECOND };

/* rho */
static cse_tensor *length_of(cse_tensor *step, double beta2)
{
    static const double series[] = { -1.0 / 1209600, 1.0 / 30240, -1.0 / 720, 1.0 / 12 };
    const double longest = 2 / (1 - beta2) - 1, slope = -log(beta2);
    cse_tensor *x = cse_scale(step, slope), *square = cse_square(x), *h = cse_constant(0);
    for (size_t i = 0; i < sizeof series / sizeof series[0]; i++)
        h = cse_shift(cse_mul(h, square), series[i]);
    cse_tensor *kept = cse_sub(cse_constant(1), cse_scale(cse_mul(h, x), 2));
    cse_tensor *early = cse_shift(cse_mul(step, kept), longest - 2 / slope);
    cse_tensor *late = cse_sub(cse_constant(longest), cse_div(cse_scale(step, 2), cse_expm1(x)));
    return cse_where(cse_less(x, cse_constant(1)), early, late);
}

/* r, of a rho of at least 5 */
static cse_tensor *rectification(cse_tensor *rho, double beta2)
{
    const double longest = 2 / (1 - beta2) - 1;
    rho = cse_maximum(rho, cse_constant(5));
    cse_tensor *above = cse_mul(cse_shift(rho, -4), cse_shift(rho, -2));
    return cse_sqrt(cse_scale(cse_div(above, rho), longest / ((longest - 4) * (longest - 2))));
}

static void update(cse_optimizer_update *u)
{
    const double beta1 = cse_settings_number_at(u->settings, "betas", 0),
                 beta2 = cse_settings_number_at(u->settings, "betas", 1);
    const double eps = cse_settings_number(u->settings, "eps");
    cse_tensor *step = cse_optimizer_count_step(u, STEP);
    const bool decoupled = cse_settings_bool(u->settings, "decoupled_weight_decay");
    cse_tensor *gradient = decoupled ? cse_optimizer_gradient(u) : cse_optimizer_penalized(u);
    cse_tensor *first = cse_optimizer_average(u->states[FIRST], gradient, beta1);
    cse_tensor *second = cse_optimizer_average(u->states[SECOND], cse_square(gradient), beta2);
    u->next_states[FIRST] = first;
    u->next_states[SECOND] = second;
    cse_tensor *direction = cse_div(first, cse_optimizer_bias(step, beta1));
    if (2 / (1 - beta2) - 1 > 5) { /* else rho never is */
        cse_tensor *rho = length_of(step, beta2), *one = cse_constant(1);
        cse_tensor *factor =
            cse_mul(rectification(rho, beta2), cse_sqrt(cse_optimizer_bias(step, beta2)));
        cse_tensor *adaptive = cse_div(factor, cse_shift(cse_sqrt(second), eps));
        direction = cse_mul(direction, cse_where(cse_greater(rho, cse_constant(5)), adaptive, one));
    }
    cse_optimizer_descend(u, decoupled ? cse_optimizer_decayed(u, direction) : direction);
}

const cse_optimizer_descriptor cse_optimizer_radam = {
    .name = "RAdam",
    .summary = "Adam whose adaptive step waits until it is reliable",
    .settings = settings,
    .default_learning_rate = 1e-3,
    .check = check,
    .states = states,
    .update = update,
};
