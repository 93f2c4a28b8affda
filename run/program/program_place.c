/* Three variables: CSENGINE_MODEL_DIR, CSENGINE_CONFINEMENT, CSENGINE_RUN_DIRECTORY. They restrict
 * a program further, never less: the kernel has its limits already. */
#include "run/program/program_place.h"

#include <stdlib.h>

#include "engine/base/confinement.h"
#include "workers/messages/run_directory.h"

void cse_program_place_leave(const char *model_dir, const char *private_folder)
{
    setenv("CSENGINE_MODEL_DIR", model_dir, 1);
    if (cse_confinement_view() == NULL)
        return;
    cse_text text = { 0 };
    cse_confinement_encode(cse_confinement_view(), &text);
    setenv("CSENGINE_CONFINEMENT", text.data, 1);
    setenv("CSENGINE_RUN_DIRECTORY", private_folder, 1);
    cse_text_clear(&text);
}

cse_status cse_program_place_take(const char **model_dir)
{
    static cse_confinement *own; /* for the rest of the process */
    const char *folder = getenv("CSENGINE_MODEL_DIR"), *limits = getenv("CSENGINE_CONFINEMENT");
    const char *sockets = getenv("CSENGINE_RUN_DIRECTORY");
    if (folder != NULL && folder[0] != '\0')
        *model_dir = folder;
    if (limits == NULL || own != NULL)
        return CSE_OK;
    CSE_TRY(cse_confinement_decode(limits, &own));
    cse_confine(own);
    if (sockets != NULL)
        cse_run_directory_use(sockets);
    return CSE_OK;
}
