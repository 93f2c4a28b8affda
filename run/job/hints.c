/* A configuration of another cluster has dozens of them: a line for each would hide the others. */
#include "run/job/hints.h"

#include <string.h>

#include "engine/base/config/cluster_table.h"
#include "engine/base/config/config_effects.h"
#include "engine/base/log.h"

bool cse_hints_take(cse_hints *hints, const char *path, const char *reason)
{
    if (!cse_config_is_hint(path))
        return false;
    static const char trainer[] = "trainer.";
    const bool below = strncmp(path, trainer, sizeof trainer - 1) == 0;
    const cse_config_hint *hint = below ? cse_config_hint_of(path + sizeof trainer - 1) : NULL;
    const char *name = strrchr(hint != NULL ? hint->path : path, '.') + 1;
    if (hints->told)
        return true;
    cse_log_line(CSE_LOG_DEBUG, "%s", reason);
    if (hints->last != hint || hint == NULL) /* one of several values has several paths */
        cse_text_add(&hints->names, "%s%s", hints->names.size > 0 ? ", " : "", name);
    hints->last = hint;
    return true;
}

void cse_hints_tell(cse_hints *hints)
{
    if (hints->names.size == 0)
        return;
    cse_log_line(CSE_LOG_INFO,
                 "no effect here, as on other hardware: %s (log_level: DEBUG and --validate_only "
                 "say why)",
                 hints->names.data);
    hints->told = true;
    cse_text_clear(&hints->names);
}
