/* ScopedTrainFlags: sets flags of the reference for the training (flags.h). */
#include <stddef.h>

#include "run/callbacks/flags.h"

const cse_callback_descriptor cse_callback_scoped_train_flags = {
    .name = "ScopedTrainFlags",
    .summary = "sets flags of the reference for the training",
    .settings = cse_flag_settings,
    .setup = cse_flags_setup,
};
