/* KeepNCheckpoints: only the newest n checkpoints of the run stay, as with checkpoint.keep, whose
 * other rules hold as well (the best one and one that was named stay). */
#include "run/job/callbacks.h"

static cse_status setup(const cse_settings *settings, cse_callback_host *host, void **self)
{
    *self = NULL;
    if (cse_settings_has(settings, "n"))
        cse_callback_keep_checkpoints(host, cse_settings_integer(settings, "n"));
    return CSE_OK;
}

static const cse_setting settings[] = {
    { .name = "n",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .min = 1,
      .max = 2147483647,
      .doc = "checkpoints that stay; null: all" },
    { .name = NULL },
};

const cse_callback_descriptor cse_callback_keep_n_checkpoints = {
    .name = "KeepNCheckpoints",
    .summary = "removes all but the newest n checkpoints of the run",
    .settings = settings,
    .setup = setup,
};
