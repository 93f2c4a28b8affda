/* Samples of scoped_validate_flags, with independent values. */
#include "tests/samples/samples.h"

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

CSE_SAMPLES(callback, scoped_validate_flags, samples);
