/* Selection of a transport by name from the registry. */
#include "workers/transports/transport.h"

#include "engine/base/registry.h"

cse_status cse_transport_select(const char *name, const cse_transport **transport)
{
    return cse_registry_get(cse_transports, "transport", name != NULL ? name : "zeromq",
                            (const void **)transport);
}
