/* Loads a checkpoint into the model of a configuration. */
#include "run/infer/loaded_model.h"

#include <stdio.h>

#include "engine/base/config/config.h"
#include "engine/base/error.h"
#include "engine/formats/checkpoint/checkpoint.h"
#include "engine/formats/weights/open.h"
#include "engine/nn/configured.h"
#include "engine/nn/plugin_find.h"
#include "run/saving/keep_packed.h"
#include "run/saving/load_weights.h"
#include "run/session/session.h"

static cse_status find_checkpoint(const cse_job_settings *settings, const cse_session *session,
                                  char path[PATH_MAX])
{
    if (settings->checkpoint_path != NULL) {
        snprintf(path, PATH_MAX, "%s", settings->checkpoint_path);
        return CSE_OK;
    }
    cse_status status = cse_checkpoint_latest(session->configuration.model_dir, path, PATH_MAX);
    return status == CSE_NO_INPUT
               ? cse_fail(status, "%s; train first, or give --checkpoint_path FILE",
                          cse_error_message())
               : status;
}

/* Weights of another program, and those that adapters are added to, have no step. */
static cse_status load(cse_session *session, const cse_job_settings *settings, bool is_own,
                       cse_loaded_model *loaded)
{
    cse_weights_loading loading = { .whole = true, .adapters = &settings->added };
    if (is_own)
        return cse_load(loaded->path);
    cse_status status = cse_session_load_weights(session, loaded->model, loaded->path, &loading);
    cse_weights_loading_clear(&loading);
    return status;
}

cse_status cse_loaded_model_open(const cse_job_settings *settings, cse_loaded_model *loaded)
{
    *loaded = (cse_loaded_model){ .model = NULL };
    CSE_TRY(cse_config_load_plugins(settings->config, cse_network_plugin_find, NULL));
    CSE_TRY(cse_session_configure(&settings->session,
                                  &(cse_session_sections){ .precision = settings->precision,
                                                           .adapters = settings->adapters,
                                                           .recompute = settings->recompute,
                                                           .states = settings->states }));
    cse_session *session = cse_session_open_view("cse_loaded_model_open");
    CSE_TRY(cse_session_status());
    CSE_TRY(find_checkpoint(settings, session, loaded->path));
    const bool is_own = settings->added.count == 0 && !cse_weights_are_foreign(loaded->path);
    const cse_keep_packed keep = { .path = loaded->path,
                                   .model = settings->model->name,
                                   .wanted = settings->weights_in_memory,
                                   .adapters = &settings->added,
                                   .all = true,
                                   .goes_on = is_own };
    cse_session_keep_packed(session, &keep);
    loaded->model = cse_compile(cse_configured_model(settings->model));
    CSE_TRY(cse_session_status());
    CSE_TRY(cse_session_check_packed(session, &keep));
    session->plan.inference_threads = settings->inference_threads;
    session->plan.takes_averages = settings->evaluates_averages;
    CSE_TRY(load(session, settings, is_own, loaded));
    loaded->step = cse_global_step();
    if (loaded->step > 0)
        snprintf(loaded->described, sizeof loaded->described, "weights of step %lld: %s",
                 (long long)loaded->step, loaded->path);
    else
        snprintf(loaded->described, sizeof loaded->described, "weights: %s", loaded->path);
    return CSE_OK;
}
