/* A bounded list of messages. */
#include "engine/base/diagnostics.h"

#include <stdlib.h>

#include "engine/base/arena.h"

cse_status cse_diagnostics_take(cse_diagnostics *diagnostics, cse_status status)
{
    if (status != CSE_CONFIG || diagnostics == NULL)
        return status;
    if (diagnostics->count < CSE_MAX_DIAGNOSTICS)
        diagnostics->messages[diagnostics->count++] = cse_strdup(cse_error_message());
    return diagnostics->count < CSE_MAX_DIAGNOSTICS ? CSE_OK : status;
}

cse_status cse_diagnostics_end(const cse_diagnostics *diagnostics)
{
    if (diagnostics == NULL || diagnostics->count == 0)
        return CSE_OK;
    return cse_fail(CSE_CONFIG, "%s", diagnostics->messages[0]);
}

void cse_diagnostics_clear(cse_diagnostics *diagnostics)
{
    for (int i = 0; i < diagnostics->count; i++)
        free(diagnostics->messages[i]);
    diagnostics->count = 0;
}
