/* Names of weight decay schedules: each schedule of a learning rate, NAMELR, is one of weight decay
 * under the name NAMEWD, with the settings' names of cerebras.pytorch's (initial_val for
 * initial_learning_rate, ...). */
#ifndef CSE_CONFIG_DECAY_SCHEDULES_H
#define CSE_CONFIG_DECAY_SCHEDULES_H

#include "engine/config/yaml.h"

/* Whether `name` is that of a weight decay schedule. */
bool cse_is_decay_schedule(const char *name);

/* Replaces such a name, and the names in its settings, by those of the learning rate's schedule.
 * Leaves other names as they are. */
void cse_decay_schedule_rename(cse_arena *arena, const char **name, cse_yaml_node **settings);

#endif
