/* The settings in which two runs differ that can have changed a bit of a step. */
#ifndef CSE_RUN_TRAVEL_SETTINGS_DIFFERENCES_H
#define CSE_RUN_TRAVEL_SETTINGS_DIFFERENCES_H

#include "engine/base/config/config_difference.h"

/* Of the configurations of their last starts, in the arena; paths are without "trainer.". *count 0:
 * there is none, or a run keeps no configuration. */
cse_status cse_settings_differences(cse_arena *arena, const char *const model_dirs[2],
                                    cse_setting_difference **differences, int *count);

#endif
