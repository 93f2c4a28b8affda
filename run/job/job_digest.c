/* Tensors alone are digested: a file's other contents differ where the weights are the same. */
#include "run/job/job_digest.h"

#include <stdlib.h>

#include "engine/formats/checkpoint/digest.h"

cse_status cse_job_digest(cse_session *session, const char *path,
                          char digits[CSE_DIGEST_DIGITS + 1])
{
    if (path == NULL) {
        cse_checkpoint own;
        cse_session_checkpoint(session, &own);
        cse_checkpoint_digest(&own, NULL, digits);
        free(own.tensors);
        return CSE_OK;
    }
    cse_checkpoint *file = NULL;
    CSE_TRY(cse_checkpoint_map(path, &file));
    cse_checkpoint_digest(file, NULL, digits);
    cse_checkpoint_destroy(&file);
    return CSE_OK;
}
