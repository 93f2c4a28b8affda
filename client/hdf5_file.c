/* The program writes the file, from memory that both processes share. */
#include "engine/formats/checkpoint/hdf5_file.h"

#include <stdlib.h>
#include <string.h>

#include "client/ask.h"
#include "engine/base/arena.h"
#include "engine/formats/checkpoint/shared_checkpoint.h"

static cse_status take_outcome(const cse_shared_checkpoint *shared, const cse_format_target *to)
{
    cse_shared_outcome *outcome = cse_calloc(1, sizeof *outcome);
    cse_status status = CSE_OK;
    if (!cse_shared_checkpoint_outcome(shared, outcome))
        status = cse_fail(CSE_IO, "%s: the process that writes it left no word of it", to->path);
    else if (outcome->status != CSE_OK)
        status = cse_fail(outcome->status, "%s", outcome->message);
    else if (to->digest != NULL)
        memcpy(to->digest, outcome->digest, sizeof outcome->digest);
    free(outcome);
    return status;
}

cse_status cse_hdf5_file_write(const cse_checkpoint *checkpoint, const cse_format_target *to)
{
    static const char *const words[] = { "checkpoint", NULL };
    cse_shared_checkpoint *shared = NULL;
    CSE_TRY(cse_shared_checkpoint_new(&shared));
    cse_status status = cse_shared_checkpoint_finish(shared, checkpoint, to->path);
    if (status == CSE_OK)
        status =
            cse_client_ask(words, cse_shared_checkpoint_descriptor(shared), to->descriptor, NULL);
    if (status == CSE_OK)
        status = take_outcome(shared, to);
    cse_shared_checkpoint_destroy(&shared);
    return status;
}
