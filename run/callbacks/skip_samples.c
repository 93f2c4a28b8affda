/* SkipSamples: training begins after the first samples of the stream, as where one of them spoils
 * it. It stands for the setting skip_samples of the data that training reads, where the
 * configuration puts it (engine/base/config/callback_flags.c). */
#include <inttypes.h>

#include "run/job/callbacks.h"

static cse_status setup(const cse_settings *settings, cse_callback_host *host, void **self)
{
    *self = NULL;
    cse_callback_tell(host,
                      "training reads the stream of samples from %" PRId64
                      " samples further on than its step says",
                      cse_settings_integer(settings, "n"));
    return CSE_OK;
}

static const cse_setting settings[] = {
    { .name = "n",
      .type = CSE_SETTING_INTEGER,
      .min = 1,
      .max = 1e15,
      .doc = "samples of the stream that are left out before the first step" },
    { .name = NULL },
};

const cse_callback_descriptor cse_callback_skip_samples = {
    .name = "SkipSamples",
    .summary = "begins training after the first samples of the stream",
    .settings = settings,
    .setup = setup,
};
