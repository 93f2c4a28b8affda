/* Settings of activation recomputation: the same table for CONFIG.yaml (section `recompute`) and
 * for YAML given to the C API. */
#ifndef CSE_CONFIG_RECOMPUTE_SETTINGS_H
#define CSE_CONFIG_RECOMPUTE_SETTINGS_H

#include "csengine/extend.h"

extern const cse_setting cse_recompute_setting_table[];

#endif
