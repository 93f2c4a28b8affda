/* A bounded list of messages. */
#include "engine/config/faults.h"

#include <stdlib.h>

#include "engine/base/arena.h"

cse_status cse_faults_take(cse_faults *faults, cse_status status)
{
    if (status != CSE_CONFIG || faults == NULL)
        return status;
    if (faults->count < CSE_MOST_FAULTS)
        faults->messages[faults->count++] = cse_strdup(cse_error_message());
    return faults->count < CSE_MOST_FAULTS ? CSE_OK : status;
}

cse_status cse_faults_end(const cse_faults *faults)
{
    if (faults == NULL || faults->count == 0)
        return CSE_OK;
    return cse_fail(CSE_CONFIG, "%s", faults->messages[0]);
}

void cse_faults_clear(cse_faults *faults)
{
    for (int i = 0; i < faults->count; i++)
        free(faults->messages[i]);
    faults->count = 0;
}
