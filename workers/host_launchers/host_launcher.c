/* Selection of a host launcher by name, or by where this process runs. */
#include "workers/host_launchers/host_launcher.h"

#include <stdlib.h>

#include "engine/base/registry.h"

cse_status cse_host_launcher_select(const char *name, const cse_host_launcher **launcher)
{
    return cse_registry_get(cse_host_launchers, "host launcher", name != NULL ? name : "ssh",
                            (const void **)launcher);
}

const char *cse_host_launcher_default(void)
{
    return getenv("SLURM_JOB_ID") != NULL ? "slurm" : "ssh";
}
