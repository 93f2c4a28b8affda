/* NaNChecker: a parameter that is not finite ends the run, and is named.
 *
 * The step computes one number, the index of the first parameter that has an element that is not
 * finite, or -1; it is looked at on the steps whose values are handed out. Gradients are left out:
 * with dynamic loss scaling those of a skipped step are not finite, and nothing is wrong. Which
 * tensor of the step was the first, is told by the statistics of `numerics`. */
#include <stdlib.h>

#include "csengine/generated/ops.h"
#include "engine/base/arena.h"
#include "run/job/callbacks.h"

typedef struct nan_checker {
    cse_callback_host *host;
    int64_t every, looked;
} nan_checker;

static cse_status setup(const cse_settings *settings, cse_callback_host *host, void **self)
{
    nan_checker *n = cse_calloc(1, sizeof *n);
    *n = (nan_checker){ .host = host, .every = cse_settings_integer(settings, "num_steps") };
    *self = n;
    return CSE_OK;
}

/* x - x is 0 for each finite element and NaN for any other, so that sums of large values, which
 * overflow, are not taken for one. */
static void trace(void *self, const cse_callback_trace *t)
{
    (void)self;
    cse_tensor *first = cse_constant(-1);
    for (int i = t->count - 1; i >= 0; i--) {
        cse_tensor *sum = cse_sum_all(cse_mul(t->values[i], cse_constant(0)));
        first = cse_where(cse_is_finite(sum), first, cse_constant(i));
    }
    if (t->count > 0)
        cse_callback_fetch(t, "nan_checker", first);
}

static cse_status on_train_step_end(void *self, const cse_callback_step *step)
{
    nan_checker *n = self;
    double index;
    if (n->looked++ % n->every != 0 || !cse_callback_value(step, "nan_checker", &index) ||
        index < 0)
        return CSE_OK;
    cse_model *model = cse_callback_model_view(n->host);
    return cse_fail(CSE_FAILED, "parameter %s has an element that is not finite after %lld steps",
                    cse_state_name_view(cse_parameter_at(model, (int)index)),
                    (long long)step->step - 1);
}

static const cse_setting settings[] = {
    { .name = "num_steps",
      .type = CSE_SETTING_INTEGER,
      .default_value = "1",
      .min = 1,
      .max = 2147483647,
      .doc = "logged steps from one check to the next" },
    { .name = NULL },
};

const cse_callback_descriptor cse_callback_nan_checker = {
    .name = "NaNChecker",
    .summary = "ends the run when a parameter is not finite, and names it",
    .settings = settings,
    .setup = setup,
    .finalize = free,
    .trace = trace,
    .on_train_step_end = on_train_step_end,
};
