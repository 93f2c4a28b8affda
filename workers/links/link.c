/* Selection of a link by name from the registry. */
#include "workers/links/link.h"

#include "engine/base/registry.h"

cse_status cse_host_link_select(const char *name, const cse_host_link **link)
{
    return cse_registry_get(cse_host_links, "link", name != NULL ? name : "tcp",
                            (const void **)link);
}
