/* The flags of the callbacks GlobalFlags, ScopedTrainFlags and ScopedValidateFlags.
 *
 * Those that are settings here were put in their place when the configuration was read
 * (engine/base/config/callback_flags.h). The others are accepted, and their callback tells at the
 * start why they have no effect. */
#ifndef CSE_RUN_CALLBACKS_FLAGS_H
#define CSE_RUN_CALLBACKS_FLAGS_H

#include "run/job/callbacks.h"

extern const cse_setting cse_flag_settings[];

cse_status cse_flags_setup(const cse_settings *settings, cse_callback_host *host, void **self);

#endif
