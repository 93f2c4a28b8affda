/* Adam: step sizes from running moments of the gradient; weight decay is an L2 penalty. The formula
 * stands in engine/optimizers/adam_update.c.
 *
 * Differs from PyTorch as the reference does: eps is 1e-6 and is added to the root of the second
 * moment before its bias is corrected (PyTorch: 1e-8, after). With eps 0 both give the same steps.
 */
#define CSE_ADAM_WEIGHT_DECAY_DOC "L2 penalty: this times the parameter is added to its gradient"
#include "engine/optimizers/adam_update.h"

static const cse_setting settings[] = {
    CSE_LEARNING_RATE_SETTINGS,
    CSE_ADAM_SETTINGS,
    { .name = NULL },
};

static cse_status check(const cse_settings *s)
{
    return cse_adam_check(s, "optimizer Adam");
}

static int states(const cse_settings *s, cse_declared_state list[CSE_MAX_DECLARED_STATES])
{
    return cse_adam_states(s, true, list);
}

static void update(cse_optimizer_update *u)
{
    cse_adam_update(u, (cse_adam_variant){ .correct_bias = true });
}

const cse_optimizer_descriptor cse_optimizer_adam = {
    .name = "Adam",
    .summary = "adaptive moments, L2 weight decay",
    .settings = settings,
    .default_learning_rate = 1e-3,
    .check = check,
    .states = states,
    .update = update,
};
