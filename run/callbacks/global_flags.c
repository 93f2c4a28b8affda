/* GlobalFlags: sets flags of the reference for training and validation (flags.h). */
#include <stddef.h>

#include "run/callbacks/flags.h"

/* What they change is held by tests/run/callbacks/check_flags.sh. */
static const cse_callback_sample samples[] = {
    { .settings = "{csx.debug.execute_crd_memory_gi: 100}",
      .val_losses = { 1.0 },
      .tells = "csx.debug.execute_crd_memory_gi: no effect",
      .source = "a flag that has no meaning here" },
    { .settings = "{csx.performance.micro_batch_size: auto}",
      .val_losses = { 1.0 },
      .source = "a word of the reference" },
    { .settings = NULL },
};

const cse_callback_descriptor cse_callback_global_flags = {
    .name = "GlobalFlags",
    .summary = "sets flags of the reference for training and validation",
    .settings = cse_flag_settings,
    .setup = cse_flags_setup,
    .samples = samples,
};
