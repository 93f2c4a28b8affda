/* An adapter that begins as a folder of PEFT, as settings of its own: what adapter_config.json and
 * the factors' names say, layer by layer. */
#ifndef CSE_WEIGHTS_PEFT_SETTINGS_H
#define CSE_WEIGHTS_PEFT_SETTINGS_H

#include "engine/base/config/yaml.h"

/* The section `adapters`, with the settings of the folder for each adapter that has a `path`; the
 * section itself where none has. CSE_CONFIG: a setting beside `path` that the folder has; CSE_DATA,
 * CSE_NO_INPUT, ... of the folder. */
cse_status cse_peft_resolve(cse_arena *arena, cse_yaml_node *adapters, cse_yaml_node **resolved);
/* The same section without paths: of a run that has the factors. */
cse_yaml_node *cse_peft_without_paths(cse_arena *arena, const cse_yaml_node *adapters);

#endif
