/* CountParams: tells how many parameters the model has, and logs it as num_params. */
#include "run/job/callbacks.h"

static cse_status setup(const cse_settings *settings, cse_callback_host *host, void **self)
{
    (void)settings;
    *self = host;
    return CSE_OK;
}

static cse_status on_fit_start(void *self, int64_t step)
{
    cse_callback_host *host = self;
    const cse_model *model = cse_callback_model_view(host);
    const int64_t count = cse_parameter_count(model);
    cse_callback_tell(host, "%lld parameters in %d tensors", (long long)count,
                      cse_parameter_tensors(model));
    cse_callback_log(host, "num_params", step, (double)count);
    return CSE_OK;
}

static const cse_setting settings[] = { { .name = NULL } };

const cse_callback_descriptor cse_callback_count_params = {
    .name = "CountParams",
    .summary = "tells and logs how many parameters the model has",
    .settings = settings,
    .setup = setup,
    .on_fit_start = on_fit_start,
};
