/* ASGD: averaged stochastic gradient descent. The average ax is kept in a state; training goes on
 * from the parameter.
 *
 *   p = p * (1 - lambd * eta) - eta * g
 *   ax = ax + mu * (p - ax)                      mu is 1 until step t0: ax is the parameter
 *   eta = lr / (1 + lambd * lr * t)^alpha        for the next step; lr in the first
 *   mu = 1 / max(1, t - t0)                      for the next step
 *
 * where t = 1, 2, ... is the number of the step (Polyak, Juditsky, "Acceleration of stochastic
 * approximation by averaging", 1992, in the form of PyTorch). */
#include "csengine/generated/ops.h"
#include "engine/nn/optimizers/rule.h"

static const cse_setting settings[] = {
    CSE_LEARNING_RATE_SETTINGS,
    CSE_OPTIMIZER_NUMBER("lambd", "1e-4", 0, 1000000.0, "decay of the parameter"),
    CSE_OPTIMIZER_NUMBER("alpha", "0.75", 0, 1000000.0, "power by which eta falls"),
    CSE_OPTIMIZER_NUMBER("t0", "1e6", 0, 1e15, "step at which averaging begins"),
    CSE_OPTIMIZER_PENALTY,
    CSE_OPTIMIZER_MAXIMIZE,
    { .name = NULL },
};

static int states(const cse_settings *s, cse_shape shape,
                  cse_declared_state list[CSE_MAX_DECLARED_STATES])
{
    (void)shape;
    list[0] = (cse_declared_state){ .name = "step", .scalar = true };
    list[1] = (cse_declared_state){ .name = "eta",
                                    .scalar = true,
                                    .initial = cse_optimizer_rate_or(s, 1e-2) };
    list[2] = (cse_declared_state){ .name = "mu", .scalar = true, .initial = 1 };
    list[3] = (cse_declared_state){ .name = "ax" };
    return 4;
}

enum { STEP, ETA, MU, AX };

static void update(cse_optimizer_update *u)
{
    const double lambd = cse_settings_number(u->settings, "lambd");
    const double alpha = cse_settings_number(u->settings, "alpha");
    const double t0 = cse_settings_number(u->settings, "t0");
    cse_tensor *zero = cse_constant(0), *one = cse_constant(1), *rate = u->learning_rate;
    /* A schedule's first learning rate is not known when the state is made. */
    cse_tensor *eta = cse_where(cse_equal(u->states[STEP], zero), rate, u->states[ETA]);
    cse_tensor *step = cse_optimizer_count_step(u, STEP);
    cse_tensor *gradient = cse_optimizer_penalized(u);
    cse_tensor *kept = cse_mul(u->parameter, cse_sub(one, cse_scale(eta, lambd)));
    u->next_parameter = cse_sub(kept, cse_mul(gradient, eta));
    cse_tensor *way = cse_sub(u->next_parameter, u->states[AX]);
    u->next_states[AX] = cse_add(u->states[AX], cse_mul(way, u->states[MU]));
    cse_tensor *growth = cse_shift(cse_scale(cse_mul(rate, step), lambd), 1);
    u->next_states[ETA] = cse_div(rate, cse_pow(growth, cse_constant(alpha)));
    u->next_states[MU] = cse_reciprocal(cse_maximum(one, cse_shift(step, -t0)));
}

const cse_optimizer_descriptor cse_optimizer_asgd = {
    .name = "ASGD",
    .summary = "gradient descent with an average of the parameters",
    .settings = settings,
    .default_learning_rate = 1e-2,
    .states = states,
    .update = update,
};
