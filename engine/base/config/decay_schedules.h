/* Names of schedules of other values: each schedule of a learning rate, NAMELR, is one of weight
 * decay under the name NAMEWD and one of momentum under NAMEMomentum, with the settings' names of
 * cerebras.pytorch's (initial_val for initial_learning_rate, ...). */
#ifndef CSE_CONFIG_DECAY_SCHEDULES_H
#define CSE_CONFIG_DECAY_SCHEDULES_H

#include "engine/base/config/yaml.h"

/* What a schedule is of. */
typedef enum cse_scheduled {
    CSE_SCHEDULED_RATE,
    CSE_SCHEDULED_DECAY,
    CSE_SCHEDULED_MOMENTUM,
    CSE_SCHEDULED_COUNT
} cse_scheduled;

/* By the name's end; whatever has no other end is of the learning rate. */
cse_scheduled cse_scheduled_by(const char *name);

/* Replaces such a name, and the names in its settings, by those of the learning rate's schedule.
 * Leaves other names as they are. */
void cse_decay_schedule_rename(cse_arena *arena, const char **name, cse_yaml_node **settings);

#endif
