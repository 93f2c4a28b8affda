/* The section `ema`: averages of the weights. */
#ifndef CSE_CONFIG_AVERAGE_SETTINGS_H
#define CSE_CONFIG_AVERAGE_SETTINGS_H

#include "engine/base/config/settings.h"

extern const cse_setting cse_average_setting_table[];

/* Whether the configuration that a checkpoint keeps (its text; may be NULL) asks that evaluations
 * take averages. */
bool cse_averages_are_evaluated(cse_arena *arena, const char *configuration);

#endif
