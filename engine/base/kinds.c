/* Written by autogen.sh: every plugin kind of the library. */
#include <stddef.h>

#include "engine/base/registry.h"

extern const void *const cse_ops[];
extern const void *const cse_optimizers[];
extern const void *const cse_schedules[];
extern const void *const cse_metrics[];
extern const void *const cse_models[];
extern const void *const cse_loggers[];
extern const void *const cse_checkpoint_formats[];
extern const void *const cse_inputs[];
extern const void *const cse_launchers[];
extern const void *const cse_transports[];

const cse_kind cse_kinds[] = {
    { "ops", cse_ops },
    { "optimizers", cse_optimizers },
    { "schedules", cse_schedules },
    { "metrics", cse_metrics },
    { "models", cse_models },
    { "loggers", cse_loggers },
    { "formats", cse_checkpoint_formats },
    { "inputs", cse_inputs },
    { "launchers", cse_launchers },
    { "transports", cse_transports },
    { NULL, NULL },
};
