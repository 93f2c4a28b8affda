/* GlobalFlags: sets flags of the reference for training and validation (flags.h). */
#include <stddef.h>

#include "run/callbacks/flags.h"

const cse_callback_descriptor cse_callback_global_flags = {
    .name = "GlobalFlags",
    .summary = "sets flags of the reference for training and validation",
    .settings = cse_flag_settings,
    .setup = cse_flags_setup,
};
