/* Defaults that the reference has, and which a configuration that was written for it relies on. */
#ifndef CSE_CONFIG_REFERENCE_DEFAULTS_H
#define CSE_CONFIG_REFERENCE_DEFAULTS_H

#include "engine/base/config/yaml.h"

/* Gives settings that are not given the reference's defaults, where this program's are others:
 *
 * precision.fp16_type is bfloat16 where mixed precision is asked for: by enabled: true, or by a
 * section precision without `enabled` under backend_type: CSX.
 *
 * The reference's models have sizes and probabilities that do not follow from others (filter_size
 * 3072 of any hidden_size); a section with one of this program's own names, as num_layers, means
 * this program's.
 *
 * Some of its data processors shuffle.
 *
 * To be called before the tree is checked. `trainer` may be NULL. */
void cse_config_take_defaults(cse_arena *arena, const cse_yaml_node *trainer);

#endif
