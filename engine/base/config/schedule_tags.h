/* param_group_tags, a setting that every schedule has besides its own: for which parameter groups
 * it is. */
#ifndef CSE_CONFIG_SCHEDULE_TAGS_H
#define CSE_CONFIG_SCHEDULE_TAGS_H

#include "engine/base/config/yaml.h"

/* The schedule {NAME: {...}} or {scheduler: NAME, ...} without its tags; `tags` receives them, or
 * NULL where there are none. `node` itself where it has none, or is of another form. */
cse_yaml_node *cse_schedule_take_tags(cse_arena *arena, cse_yaml_node *node, cse_yaml_node **tags);

/* The settings of a schedule without its tags. */
cse_yaml_node *cse_schedule_without_tags(cse_arena *arena, cse_yaml_node *settings);

#endif
