/* A configuration of another cluster has dozens of them: a line for each would hide the others. */
#include "run/job/hints.h"

#include "engine/base/log.h"

bool cse_hints_take(cse_hints *hints, const cse_config_effect *effect)
{
    if (!effect->is_hint)
        return false;
    if (hints->told)
        return true;
    cse_log_line(CSE_LOG_DEBUG, "%s", effect->warning.message);
    if (hints->last != effect->hint || effect->hint == NULL) /* one may have several values */
        cse_text_add(&hints->names, "%s%s", hints->names.size > 0 ? ", " : "", effect->name);
    hints->last = effect->hint;
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
