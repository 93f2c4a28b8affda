/* A bounded list of errors. */
#include "engine/base/diagnostics.h"

#include <stdlib.h>

#include "engine/base/error.h"

cse_status cse_diagnostics_take(cse_diagnostics *diagnostics, cse_status status)
{
    if (status != CSE_CONFIG || diagnostics == NULL)
        return status;
    if (diagnostics->count < CSE_MAX_DIAGNOSTICS)
        diagnostics->errors[diagnostics->count++] = cse_error_copy(cse_error_last());
    return diagnostics->count < CSE_MAX_DIAGNOSTICS ? CSE_OK : status;
}

cse_status cse_diagnostics_end(const cse_diagnostics *diagnostics)
{
    if (diagnostics == NULL || diagnostics->count == 0)
        return CSE_OK;
    return cse_fail_again(diagnostics->errors[0]);
}

void cse_diagnostics_clear(cse_diagnostics *diagnostics)
{
    for (int i = 0; i < diagnostics->count; i++)
        free(diagnostics->errors[i]);
    diagnostics->count = 0;
}
