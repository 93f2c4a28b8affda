/* A callback in a shared object: how far the gradients of the largest parameter are from its
 * weights, and the end of the training once the loss is low enough.
 *
 * callbacks: [{library: ./custom_callback.so, name: TargetLoss, target: 0.2}] */
#include <stdlib.h>

#include <csengine/csengine.h>

typedef struct target_loss {
    cse_callback_host *host;
    double target;
} target_loss;

static cse_status setup(const cse_settings *settings, cse_callback_host *host, void **self)
{
    target_loss *t = calloc(1, sizeof *t);
    if (t == NULL)
        return cse_fail(CSE_TEMPORARY, "there is no memory");
    t->host = host;
    t->target = cse_settings_number(settings, "target");
    *self = t;
    return CSE_OK;
}

static int64_t elements(cse_shape shape)
{
    int64_t count = 1;
    for (int i = 0; i < shape.rank; i++)
        count *= shape.dims[i];
    return count;
}

/* What is added here is computed by each step, and recorded as a series. */
static void trace(void *self, const cse_callback_trace *t)
{
    int largest = 0;
    (void)self;
    for (int i = 1; i < t->count; i++)
        if (elements(cse_state_shape(t->states[i])) > elements(cse_state_shape(t->states[largest])))
            largest = i;
    cse_tensor *gradient = cse_sqrt(cse_sum_all(cse_square(t->gradients[largest])));
    cse_tensor *weight = cse_sqrt(cse_sum_all(cse_square(t->values[largest])));
    cse_callback_fetch(t, "gradient_to_weight", cse_div(gradient, weight));
}

static cse_status on_train_step_end(void *self, const cse_callback_step *step)
{
    target_loss *t = self;
    if (step->loss <= t->target)
        cse_callback_stop(t->host, "the loss has reached its target");
    return CSE_OK;
}

static const cse_setting settings[] = {
    { .name = "target",
      .type = CSE_SETTING_NUMBER,
      .min = 0,
      .max = 1e30,
      .doc = "the training ends at the first logged step with this loss, or a lower one" },
    { .name = NULL },
};

/* Each step s of the contract test has the loss 1/s: 0.07 is reached between the first validation
 * (after step 10) and the second. */
static const cse_callback_sample samples[] = {
    { .settings = "{target: 0.07}",
      .val_losses = { 1.0, 1.0, 1.0 },
      .stops_at = 20,
      .source = "1/15 is below 0.07" },
    { .settings = NULL },
};

static const cse_callback_descriptor target = {
    .name = "TargetLoss",
    .summary = "ends the training when the loss is low enough",
    .settings = settings,
    .setup = setup,
    .finalize = free,
    .trace = trace,
    .on_train_step_end = on_train_step_end,
    .samples = samples,
};

CSE_PLUGINS(CSE_CALLBACK_PLUGIN(&target));
