/* ScopedValidateFlags: sets flags of the reference for validations (flags.h). */
#include <stddef.h>

#include "run/callbacks/flags.h"

const cse_callback_descriptor cse_callback_scoped_validate_flags = {
    .name = "ScopedValidateFlags",
    .summary = "sets flags of the reference for validations",
    .settings = cse_flag_settings,
    .setup = cse_flags_setup,
};
