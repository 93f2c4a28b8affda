/* Weights that a run begins with, or that are evaluated, from files that are no checkpoint. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/config/config.h"
#include "engine/base/config/settings.h"
#include "engine/base/file_status.h"
#include "engine/base/text.h"
#include "engine/formats/weights/folder.h"
#include "engine/formats/weights/side_files.h"
#include "engine/formats/weights/tokenizer/own_tokenizer.h"
#include "run/job/job_hosts.h"
#include "run/job/job_parts.h"
#include "run/saving/load_weights.h"

/* Copies what stands beside the weights, or writes the tokenizer that is in their file. */
static cse_status fill_side_files(const char *path, const char *folder,
                                  const cse_tokenizer_files *files)
{
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return cse_fail(cse_status_of_writing(errno), "%s: %s", folder, strerror(errno));
    return files->json != NULL ? cse_own_tokenizer_write(files, folder)
                               : cse_side_files_copy(path, folder, NULL);
}

/* Keeps for the run what belongs to the weights, from which an export takes it. A run does without
 * where that is not possible, and says so. */
static void keep_side_files(cse_job *j, const char *path)
{
    char folder[PATH_MAX];
    cse_text names = { 0 };
    cse_tokenizer_files files = { .json = NULL };
    cse_status status = CSE_OK;
    if (!cse_job_executes(j) || cse_job_follows(j) ||
        snprintf(folder, sizeof folder, "%s/" CSE_SIDE_FILES_FOLDER,
                 j->session->configuration.model_dir) >= (int)sizeof folder)
        return;
    if (cse_weights_is_folder(path))
        cse_side_files_list(path, false, &names);
    else
        status = cse_own_tokenizer(path, &files);
    if (status == CSE_OK && (names.size > 0 || files.json != NULL))
        status = fill_side_files(path, folder, &files);
    cse_text_clear(&names);
    cse_tokenizer_files_clear(&files);
    if (status != CSE_OK)
        cse_job_warn(j, &(cse_error){ .status = status, .message = cse_error_message() });
}

/* Weights of other programs, by name and shape; the optimizer is fresh, and the step is 0. */
static cse_status load(cse_job *j, const char *path, bool whole)
{
    cse_text text = { 0 };
    cse_weights_loading loading = { .whole = whole,
                                    .trains = j->settings->mode == CSE_JOB_TRAIN,
                                    .adapters = &j->settings->added };
    cse_status status = cse_session_load_weights(j->session, j->model, path, &loading);
    if (status == CSE_OK) {
        cse_text_add(&text, "loaded weights %s: %d of %d parameters", path, loading.taken,
                     loading.parameters);
        cse_job_emit_text(j, CSE_JOB_LOG, cse_global_step(), text.data);
    }
    if (status == CSE_OK && j->settings->mode == CSE_JOB_TRAIN)
        keep_side_files(j, path);
    for (int i = 0; i < 2 && status == CSE_OK; i++)
        if (loading.notices[i].data != NULL)
            cse_job_warn(j, &(cse_error){ .status = CSE_DATA, .message = loading.notices[i].data });
    cse_text_clear(&text);
    cse_weights_loading_clear(&loading);
    return status;
}

cse_status cse_job_load_weights(cse_job *j, const char *path)
{
    return load(j, path, false);
}

/* An evaluation needs all weights of the model. */
cse_status cse_job_load_foreign(cse_job *j, const char *path)
{
    if (j->settings->mode != CSE_JOB_EVALUATE)
        return cse_fail(CSE_DATA,
                        "%s: holds weights of another program, not a checkpoint from which "
                        "training goes on; --weights %s begins with them at step 0",
                        path, path);
    CSE_TRY(load(j, path, true));
    j->result->foreign_weights = true;
    snprintf(j->result->checkpoint_path, sizeof j->result->checkpoint_path, "%s", path);
    return CSE_OK;
}

bool cse_job_may_miss_checkpoint(const cse_job *j)
{
    const cse_config *config = j->settings->config;
    return j->settings->session.validate_only && config != NULL &&
           cse_settings_place(cse_config_section_view(config, "fit"), "ckpt_path").line > 0;
}
