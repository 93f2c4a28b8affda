/* The first folder for output stands for that of the job, which --model_dir names to the process.
 */
#include "dashboard/checks/job_limits.h"

#include <stdio.h>

#include "engine/base/arena.h"

static cse_status allow_all(cse_confinement *confinement, cse_path_use use,
                            const char *const *folders)
{
    for (int i = 0; folders != NULL && folders[i] != NULL; i++)
        CSE_TRY(cse_confinement_allow(confinement, use, folders[i]));
    return CSE_OK;
}

static cse_status fill(const cse_job_limits *limits, const char *directory, bool is_queue,
                       cse_confinement *confinement)
{
    CSE_TRY(cse_confinement_allow(confinement, CSE_PATH_OUTPUT, directory));
    CSE_TRY(allow_all(confinement, CSE_PATH_OUTPUT, limits->output_roots));
    CSE_TRY(allow_all(confinement, CSE_PATH_LIBRARY, limits->libraries));
    CSE_TRY(allow_all(confinement, CSE_PATH_PROGRAM, limits->programs));
    for (int i = 0; limits->variables != NULL && limits->variables[i] != NULL; i++)
        CSE_TRY(cse_confinement_allow_variable(confinement, limits->variables[i]));
    CSE_TRY(is_queue ? cse_confinement_allow_queue(confinement, directory)
                     : cse_confinement_allow(confinement, CSE_PATH_INPUT, directory));
    if (limits->data_roots == NULL || limits->data_roots[0] == NULL)
        cse_confinement_allow_data_sets(confinement);
    return allow_all(confinement, CSE_PATH_INPUT, limits->data_roots);
}

cse_status cse_job_limits_make(const cse_job_limits *limits, const char *directory, bool is_queue,
                               cse_confinement **confinement)
{
    *confinement = cse_confinement_new();
    cse_status status = fill(limits, directory, is_queue, *confinement);
    if (status != CSE_OK)
        cse_confinement_destroy(confinement);
    return status;
}

int cse_job_limits_words(const cse_confinement *confinement, char *words[], int most)
{
    static const char *const options[] = { [CSE_PATH_INPUT] = "data_root",
                                           [CSE_PATH_OUTPUT] = "output_root",
                                           [CSE_PATH_LIBRARY] = "allow_library",
                                           [CSE_PATH_PROGRAM] = "allow_program" };
    int count = 0;
    if (confinement == NULL || most < 1)
        return 0;
    words[count++] = cse_strdup("--confine");
    for (int use = 0; use < CSE_PATH_USES; use++)
        for (int i = use == CSE_PATH_OUTPUT ? 1 : 0;
             i < cse_confinement_count(confinement, (cse_path_use)use) && count < most; i++) {
            bool queue = use == CSE_PATH_INPUT && cse_confinement_is_queue(confinement, i);
            const char *folder = cse_confinement_folder(confinement, (cse_path_use)use, i);
            if (asprintf(&words[count], "--%s=%s", queue ? "queue_root" : options[use], folder) >=
                0)
                count++;
        }
    for (int i = 0; i < cse_confinement_variable_count(confinement) && count < most; i++)
        if (asprintf(&words[count], "--job_environment=%s",
                     cse_confinement_variable(confinement, i)) >= 0)
            count++;
    return count;
}
