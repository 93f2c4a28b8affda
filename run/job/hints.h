/* Settings that describe other hardware (cluster_table.h), as a run tells them: one line with all
 * their names; the reason of each where the log shows such detail. */
#ifndef CSE_RUN_JOB_HINTS_H
#define CSE_RUN_JOB_HINTS_H

#include "engine/base/config/config_effects.h"
#include "engine/base/text.h"

typedef struct cse_hints {
    cse_text names;
    const struct cse_config_hint *last; /* that was added */
    bool told;
} cse_hints;

/* Takes a setting without effect; false: it is no hint. */
bool cse_hints_take(cse_hints *hints, const cse_config_effect *effect);
/* Tells those that were added, the first time that there are any. Forgets them. */
void cse_hints_tell(cse_hints *hints);

#endif
