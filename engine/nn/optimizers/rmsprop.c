/* RMSprop: the gradient over the root of its running mean square.
 *
 *   s = alpha * s + (1 - alpha) * g^2            square_avg
 *   a = alpha * a + (1 - alpha) * g              grad_avg, with centered
 *   u = g / (sqrt(s) + eps), or g / (sqrt(s - a^2) + eps) with centered
 *   b = momentum * b + u                         momentum_buffer, with momentum > 0
 *   p = p - lr * b, or p - lr * u
 *
 * Tieleman, Hinton, lecture 6.5 of "Neural networks for machine learning", 2012; Graves,
 * "Generating sequences with recurrent neural networks", 2013 (centered). */
#include "csengine/generated/ops.h"
#include "engine/nn/optimizers/rule.h"

static const cse_setting settings[] = {
    CSE_LEARNING_RATE_SETTINGS,
    CSE_OPTIMIZER_NUMBER("alpha", "0.99", 0, 1, "fraction of the averages that is kept"),
    CSE_OPTIMIZER_NUMBER("eps", "1e-8", 0, 1, "added to the root"),
    CSE_OPTIMIZER_PENALTY,
    CSE_OPTIMIZER_NUMBER("momentum", "0.0", 0, 1, "fraction of the buffer that is kept"),
    CSE_OPTIMIZER_SWITCH("centered", "false",
                         "divide by the deviation, not by the root of the mean square"),
    CSE_OPTIMIZER_MAXIMIZE,
    CSE_OPTIMIZER_MOMENTS,
    { .name = NULL },
};

/* The mean square less the square of the mean is not negative as long as both are exact. */
static cse_status check(const cse_settings *s)
{
    if (cse_settings_bool(s, "centered") && cse_settings_text(s, "moments")[0] != 'f')
        return cse_fail(CSE_CONFIG,
                        "optimizer RMSprop: moments (%s) is %s with centered, which needs float32",
                        cse_settings_origin(s, "moments"), cse_settings_text(s, "moments"));
    return CSE_OK;
}

static int states(const cse_settings *s, cse_shape shape,
                  cse_declared_state list[CSE_MAX_DECLARED_STATES])
{
    (void)shape;
    int count = 0;
    list[count++] = (cse_declared_state){ .name = "square_avg", .moment = CSE_MOMENT_NOT_NEGATIVE };
    if (cse_settings_number(s, "momentum") > 0)
        list[count++] = (cse_declared_state){ .name = "momentum_buffer", .moment = CSE_MOMENT };
    if (cse_settings_bool(s, "centered"))
        list[count++] = (cse_declared_state){ .name = "grad_avg", .moment = CSE_MOMENT };
    return count;
}

static void update(cse_optimizer_update *u)
{
    const double alpha = cse_settings_number(u->settings, "alpha");
    const double eps = cse_settings_number(u->settings, "eps");
    const double momentum = cse_settings_number(u->settings, "momentum");
    const int average_index = momentum > 0 ? 2 : 1;
    cse_tensor *gradient = cse_optimizer_penalized(u);
    cse_tensor *squares = cse_optimizer_average(u->states[0], cse_square(gradient), alpha);
    u->next_states[0] = squares;
    if (cse_settings_bool(u->settings, "centered")) {
        cse_tensor *average = cse_optimizer_average(u->states[average_index], gradient, alpha);
        u->next_states[average_index] = average;
        /* Rounding may leave less than nothing of a variance of 0. */
        squares = cse_maximum(cse_sub(squares, cse_square(average)), cse_constant(0));
    }
    cse_tensor *direction = cse_div(gradient, cse_shift(cse_sqrt(squares), eps));
    if (momentum > 0) {
        direction = cse_add(cse_optimizer_with_momentum(u, u->states[1]), direction);
        u->next_states[1] = direction;
    }
    cse_optimizer_descend(u, direction);
}

const cse_optimizer_descriptor cse_optimizer_rmsprop = {
    .name = "RMSprop",
    .summary = "steps divided by the root of the mean squared gradient",
    .settings = settings,
    .default_learning_rate = 1e-2,
    .check = check,
    .states = states,
    .update = update,
};
