/* What callbacks of the ModelZoo set that is a setting here (the flags of GlobalFlags,
 * ScopedTrainFlags and ScopedValidateFlags, the number of SkipSamples): each is put where the
 * setting stands, before the configuration is checked. */
#ifndef CSE_CONFIG_CALLBACK_FLAGS_H
#define CSE_CONFIG_CALLBACK_FLAGS_H

#include "engine/base/config/yaml.h"

/* Changes the tree. CSE_CONFIG where a flag and the setting itself say different things. */
cse_status cse_config_apply_callback_flags(cse_arena *arena, const cse_yaml_node *root);

#endif
