/* The settings in which two configurations differ. Both were completed by one table, so that values
 * are compared as they are written. */
#ifndef CSE_BASE_CONFIG_CONFIG_DIFFERENCE_H
#define CSE_BASE_CONFIG_CONFIG_DIFFERENCE_H

#include "csengine/status.h"
#include "engine/base/arena.h"

typedef struct cse_setting_difference {
    const char *path;      /* "trainer.init.optimizer.SGD.lr" */
    const char *values[2]; /* as YAML; NULL: that configuration has none */
} cse_setting_difference;

/* Of two configurations as YAML; NULL: one that is not known, beside which nothing differs. In the
 * order of the first, then those that the second alone has. In `arena`. Fails as cse_yaml_parse. */
cse_status cse_config_difference(cse_arena *arena, const char *const yaml[2],
                                 cse_setting_difference **differences, int *count);

#endif
