/* CheckLoss: a loss that is not finite ends the run. Every run of the engine has this check on
 * every step, so that there is nothing left to do here: the name is accepted for configurations
 * that list it. */
#include <stddef.h>

#include "run/job/callbacks.h"

static const cse_setting settings[] = { { .name = NULL } };

const cse_callback_descriptor cse_callback_check_loss = {
    .name = "CheckLoss",
    .summary = "a loss that is not finite ends the run: it does so in any case",
    .settings = settings,
};
