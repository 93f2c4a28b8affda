/* Rprop: each element has a step size of its own, which looks at the sign of the gradient alone.
 *
 *   s = sign(g * prev)                           prev: the gradient of the step before, 0 at first
 *   d = clamp(d * (etas[1] where s > 0, etas[0] where s < 0, else 1), step_sizes)      step_size
 *   g = 0 where s < 0
 *   p = p - sign(g) * d;  prev = g
 *
 * Riedmiller, Braun, "A direct adaptive method for faster backpropagation learning", 1993. The
 * first step size is the learning rate, which is not used again: the state is 0 until then. Made
 * for whole batches: the noise of small ones changes signs. */
#include "csengine/generated/ops.h"
#include "engine/nn/optimizers/rule.h"

static const cse_setting settings[] = {
    CSE_LEARNING_RATE_SETTINGS,
    CSE_OPTIMIZER_PAIR(
        "etas", "[0.5, 1.2]", 0, 1000000.0,
        "factors of a step size: below 1 when the sign changes, above 1 when it stays"),
    CSE_OPTIMIZER_PAIR("step_sizes", "[1e-6, 50]", 0, 1000000.0,
                       "the least and the largest step size, above 0"),
    CSE_OPTIMIZER_MAXIMIZE,
    { .name = NULL },
};

static cse_status check(const cse_settings *s)
{
    bool fits = cse_settings_count(s, "etas") == 2 && cse_settings_count(s, "step_sizes") == 2;
    if (!fits || !(cse_settings_number_at(s, "etas", 0) > 0) ||
        !(cse_settings_number_at(s, "etas", 0) < 1) || !(cse_settings_number_at(s, "etas", 1) > 1))
        return cse_fail(CSE_CONFIG,
                        "optimizer Rprop: etas (%s) and step_sizes (%s) must be two numbers each; "
                        "etas one between 0 and 1 and one above 1",
                        cse_settings_origin(s, "etas"), cse_settings_origin(s, "step_sizes"));
    if (!(cse_settings_number_at(s, "step_sizes", 0) > 0) ||
        cse_settings_number_at(s, "step_sizes", 1) < cse_settings_number_at(s, "step_sizes", 0))
        return cse_fail(
            CSE_CONFIG,
            "optimizer Rprop: step_sizes (%s) must be above 0, the second not less than the first",
            cse_settings_origin(s, "step_sizes"));
    return CSE_OK;
}

static int states(const cse_settings *s, cse_shape shape,
                  cse_declared_state list[CSE_MAX_DECLARED_STATES])
{
    (void)s;
    (void)shape;
    int count = 0;
    list[count++] = (cse_declared_state){ .name = "prev" };
    list[count++] = (cse_declared_state){ .name = "step_size" };
    return count;
}

static void update(cse_optimizer_update *u)
{
    const cse_settings *s = u->settings;
    cse_tensor *zero = cse_constant(0), *one = cse_constant(1), *size = u->states[1];
    cse_tensor *fresh = cse_optimizer_gradient(u);
    cse_tensor *agreement = cse_sign(cse_mul(fresh, u->states[0]));
    cse_tensor *changed = cse_less(agreement, zero), *kept = cse_greater(agreement, zero);
    cse_tensor *shrink = cse_constant(cse_settings_number_at(s, "etas", 0));
    cse_tensor *grow = cse_constant(cse_settings_number_at(s, "etas", 1));
    cse_tensor *factor = cse_where(kept, grow, cse_where(changed, shrink, one));
    size = cse_mul(cse_where(cse_greater(size, zero), size, u->learning_rate), factor);
    size = cse_maximum(size, cse_constant(cse_settings_number_at(s, "step_sizes", 0)));
    size = cse_minimum(size, cse_constant(cse_settings_number_at(s, "step_sizes", 1)));
    cse_tensor *gradient = cse_where(changed, zero, fresh);
    u->next_states[0] = gradient;
    u->next_states[1] = size;
    u->next_parameter = cse_sub(u->parameter, cse_mul(cse_sign(gradient), size));
}

const cse_optimizer_descriptor cse_optimizer_rprop = {
    .name = "Rprop",
    .summary = "step sizes that grow while the gradient keeps its sign",
    .settings = settings,
    .default_learning_rate = 1e-3,
    .check = check,
    .states = states,
    .update = update,
};
