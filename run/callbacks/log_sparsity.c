/* LogSparsity: how sparse each sparse parameter is to be, and is.
 *
 * sparsity/PARAMETER/target   the sparsity that the schedule asks for
 * sparsity/PARAMETER/actual   the part of the elements that are out of use after the step
 * Between two changes of the masks the target may already be another one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/base/arena.h"
#include "run/job/callbacks.h"

typedef struct log_sparsity {
    cse_callback_host *host;
    bool told;
} log_sparsity;

static cse_status setup(const cse_settings *settings, cse_callback_host *host, void **self)
{
    (void)settings;
    log_sparsity *l = cse_calloc(1, sizeof *l);
    l->host = host;
    *self = l;
    return CSE_OK;
}

/* model.fc.weight -> fc.weight */
static const char *short_name(const cse_state *parameter)
{
    const char *name = cse_state_name_view(parameter);
    return strncmp(name, "model.", 6) == 0 ? name + 6 : name;
}

static void trace(void *self, const cse_callback_trace *t)
{
    log_sparsity *l = self;
    bool any = false;
    for (int i = 0; i < t->count; i++) {
        char name[600];
        cse_tensor *target = cse_sparsity_target(t->states[i]);
        if (target == NULL)
            continue;
        any = true;
        snprintf(name, sizeof name, "sparsity/%s/target", short_name(t->states[i]));
        cse_callback_fetch(t, name, target);
        snprintf(name, sizeof name, "sparsity/%s/actual", short_name(t->states[i]));
        cse_tensor *mask = cse_read(cse_sparsity_mask(t->states[i]));
        cse_tensor *in_use = cse_cast(cse_equal(mask, cse_constant(0)), CSE_FLOAT32);
        cse_callback_fetch(t, name, cse_mean_all(in_use));
    }
    if (!any && !l->told)
        cse_callback_tell(l->host, "LogSparsity has nothing to log: no parameter is sparse; "
                                   "trainer.init.sparsity says which are");
    l->told = true;
}

static const cse_setting settings[] = { { .name = NULL } };

const cse_callback_descriptor cse_callback_log_sparsity = {
    .name = "LogSparsity",
    .summary = "logs how sparse each sparse parameter is to be, and is",
    .settings = settings,
    .setup = setup,
    .finalize = free,
    .trace = trace,
};
