/* What a job trains its model for. A teacher is a frozen model of the family that its weights tell;
 * its states are in no checkpoint: each start of the run reads them again. */
#include <string.h>

#include "dataloader/tokenizer/tokenizer.h"
#include "engine/base/config/settings.h"
#include "engine/formats/weights/folder.h"
#include "engine/formats/weights/map.h"
#include "engine/formats/weights/open.h"
#include "engine/nn/plugins.h"
#include "run/job/job_parts.h"
#include "run/saving/load_weights.h"

#define ROLE "teacher"

/* ---- vocabularies ---- */

/* The tokens of both are the same numbers: else the model would learn the teacher's outputs for
 * other tokens. */
static cse_status compare(const char *own_path, const char *path)
{
    cse_tokenizer *own = NULL, *teacher = NULL;
    size_t sizes[2] = { 0, 0 };
    cse_status status = cse_tokenizer_load(own_path, &own);
    if (status == CSE_OK)
        status = cse_tokenizer_load(path, &teacher);
    const int64_t counts[] = { status == CSE_OK ? cse_tokenizer_vocab_size(own) : 0,
                               status == CSE_OK ? cse_tokenizer_vocab_size(teacher) : 0 };
    if (counts[0] != counts[1])
        status = cse_fail(CSE_CONFIG,
                          "the tokenizer of the data (%s) has %lld tokens, that of the teacher "
                          "(%s) %lld; accepted: a teacher with the same tokenizer",
                          own_path, (long long)counts[0], path, (long long)counts[1]);
    for (int64_t t = 0; status == CSE_OK && t < counts[0]; t++) {
        const char *ours = cse_tokenizer_token_view(own, t, &sizes[0]);
        const char *theirs = cse_tokenizer_token_view(teacher, t, &sizes[1]);
        if ((ours == NULL) != (theirs == NULL) ||
            (ours != NULL && (sizes[0] != sizes[1] || memcmp(ours, theirs, sizes[0]) != 0)))
            status = cse_fail(
                CSE_CONFIG,
                "token %lld is \"%.*s\" in the tokenizer of the data (%s) and "
                "\"%.*s\" in that of the teacher (%s); accepted: a teacher with the "
                "same tokenizer",
                (long long)t, ours != NULL ? (int)sizes[0] : 0, ours != NULL ? ours : "", own_path,
                theirs != NULL ? (int)sizes[1] : 0, theirs != NULL ? theirs : "", path);
    }
    cse_tokenizer_close(&own);
    cse_tokenizer_close(&teacher);
    return status;
}

static cse_status compare_tokenizers(const cse_job *j, const char *path)
{
    const cse_config_plugin *data = j->settings->train_dataloader;
    if (data == NULL || data->settings == NULL || !cse_weights_is_folder(path) ||
        !cse_tokenizer_is_in(path) || !cse_setting_table_has(data->settings->table, "tokenizer") ||
        !cse_settings_has(data->settings, "tokenizer"))
        return CSE_OK;
    return compare(cse_settings_text(data->settings, "tokenizer"), path);
}

/* ---- the model ---- */

/* The model that weights are of, and its settings. */
static cse_status describe(cse_arena *arena, const char *path, cse_config_plugin *plugin)
{
    cse_weights *weights = NULL;
    CSE_TRY(cse_weights_open_ours(path, NULL, &weights));
    const char *config = cse_arena_string(arena, weights->config);
    cse_weights_close(&weights);
    if (config == NULL)
        return cse_fail(CSE_DATA,
                        "%s: says nothing of its model's settings; accepted: a folder of Hugging "
                        "Face, a .gguf, or a checkpoint of csengine",
                        path);
    CSE_TRY(cse_map_model_section(arena, config, &plugin->name, &plugin->tree));
    return cse_registry_get(cse_models, "model", plugin->name, &plugin->descriptor);
}

static cse_status make_teacher(cse_job *j, const char *path)
{
    cse_config_plugin plugin = { .name = NULL };
    CSE_TRY(compare_tokenizers(j, path));
    CSE_TRY(describe(j->session->arena, path, &plugin));
    cse_model *teacher = cse_frozen_model(ROLE, &plugin);
    CSE_TRY(cse_session_status());
    for (int i = 0; i < teacher->parameter_count; i++)
        teacher->parameters[i]->persistent = false;
    j->objective->other = teacher;
    return CSE_OK;
}

static const char *teacher_of(const cse_job *j)
{
    const cse_objective *objective = j->objective;
    return objective != NULL && objective->descriptor->teacher != NULL
               ? cse_settings_text(objective->settings, objective->descriptor->teacher)
               : NULL;
}

cse_status cse_job_make_objective(cse_job *j)
{
    const cse_job_settings *s = j->settings;
    if (s->objective == NULL)
        return CSE_OK;
    CSE_TRY(cse_configured_objective(s->objective, s->model, j->model, &j->objective));
    const char *path = teacher_of(j);
    cse_status status = path != NULL ? make_teacher(j, path) : CSE_OK;
    return status == CSE_OK
               ? CSE_OK
               : cse_fail_within(status, "objective %s: teacher: ", j->objective->descriptor->name);
}

cse_status cse_job_load_teacher(cse_job *j)
{
    cse_text text = { 0 };
    const char *path = teacher_of(j);
    cse_weights_loading loading = { .whole = true };
    if (path == NULL || !cse_job_executes(j))
        return CSE_OK;
    cse_status status = cse_session_load_weights(j->session, j->objective->other, path, &loading);
    if (status == CSE_OK) {
        cse_text_add(&text, "loaded teacher %s: %d parameters of a model %s", path, loading.taken,
                     j->objective->other->descriptor->name);
        cse_job_emit_text(j, CSE_JOB_LOG, cse_global_step(), text.data);
    }
    if (status == CSE_OK && loading.notices[1].data != NULL)
        cse_job_warn(j, &(cse_error){ .status = CSE_DATA, .message = loading.notices[1].data });
    cse_text_clear(&text);
    cse_weights_loading_clear(&loading);
    return status;
}

static bool is_zero(const float *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (values[i] != 0)
            return false;
    return true;
}

/* Factors that a run begins with are a part of what it began as, which the model without them is
 * not. */
cse_status cse_job_check_reference(cse_job *j)
{
    cse_network *network = &j->session->network;
    if (j->objective == NULL || !cse_objective_reference_is_adapter_off(j->objective) ||
        j->settings->mode != CSE_JOB_TRAIN || !cse_job_executes(j) || cse_global_step() > 0)
        return CSE_OK;
    for (int i = 0; i < j->model->parameter_count; i++) {
        cse_state *state = j->model->parameters[i];
        if (!state->trainable || strstr(state->name, ".lora_B") == NULL ||
            is_zero(cse_state_values(network, state), cse_shape_elements(state->shape)))
            continue;
        return cse_fail_at(
            &(cse_error){ .status = CSE_CONFIG,
                          .hint = "add that adapter to the weights first (`csengine checkpoint "
                                  "convert`), and begin with those and a fresh one" },
            "objective %s: its reference is the model with the adapter off, but the run begins "
            "with factors that are not 0 (%s)",
            j->objective->descriptor->name, state->name);
    }
    return CSE_OK;
}
