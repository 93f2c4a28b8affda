/* Selection of a launcher by name, and the text that describes the end of a process. */
#include "workers/launchers/launcher.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/registry.h"

cse_status cse_launcher_select(const char *name, const cse_launcher **launcher)
{
    return cse_registry_get(cse_launchers, "launcher", name != NULL ? name : "local_process",
                            (const void **)launcher);
}

const char *cse_exit_text(cse_exit how, char *text, size_t size)
{
    if (how.signal != 0)
        snprintf(text, size, "was killed by signal %d (%s)", how.signal, strsignal(how.signal));
    else if (how.code >= 0)
        snprintf(text, size, "ended with exit code %d", how.code);
    else
        snprintf(text, size, "ended with unknown status");
    return text;
}
