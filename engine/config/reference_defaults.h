/* Defaults that the reference has, and which a configuration that was written for it relies on. */
#ifndef CSE_CONFIG_REFERENCE_DEFAULTS_H
#define CSE_CONFIG_REFERENCE_DEFAULTS_H

#include "engine/config/yaml.h"

/* Gives precision.fp16_type the reference's default, bfloat16, where it is not given and mixed
 * precision is asked for: by enabled: true, or by a section precision without `enabled` under
 * backend_type: CSX. To be called before the tree is checked. `trainer` may be NULL. */
void cse_config_take_defaults(cse_arena *arena, const cse_yaml_node *trainer);

#endif
