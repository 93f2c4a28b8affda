/* A callback that fails with the status that its setting names, before the training or in it: for
 * each status, what comes of a run that ends with it. */
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "csengine/plugin.h"

static const struct {
    const char *name;
    cse_status status;
} statuses[] = {
#define ROW(code, exit_code, retryable, text) { #code, code },
    CSE_STATUS_TABLE(ROW)
};

static const cse_setting settings[] = {
    { .name = "status", .type = CSE_SETTING_TEXT, .doc = "as in csengine/status.h" },
    { .name = NULL },
};

static cse_status set_up(const cse_settings *given, cse_callback_host *host, void **self)
{
    (void)host;
    cse_status *status = malloc(sizeof *status);
    *status = CSE_OK;
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        if (strcmp(statuses[i].name, cse_settings_text(given, "status")) == 0)
            *status = statuses[i].status;
    *self = status;
    return CSE_OK;
}

static cse_status fail_in_step(void *self, const cse_callback_step *step)
{
    const cse_status *status = self;
    (void)step;
    return *status == CSE_OK ? CSE_OK : cse_fail(*status, "the callback was told to fail");
}

static const cse_callback_sample samples[] = { { .settings = NULL } };

static const cse_callback_descriptor failing = {
    .name = "Failing",
    .summary = "fails as it is told",
    .settings = settings,
    .setup = set_up,
    .finalize = free,
    .on_train_step_end = fail_in_step,
    .samples = samples,
};

CSE_PLUGINS(CSE_CALLBACK_PLUGIN(&failing));
