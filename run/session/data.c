/* The data files of a session: their identity is taken when they are first opened, compared at
 * every later open, and kept in checkpoints. */
#include <stdlib.h>
#include <string.h>

#include "dataloader/data_description.h"
#include "dataloader/tables/class_names.h"
#include "dataloader/tokenizer/tokenizer.h"
#include "engine/base/config/settings.h"
#include "engine/base/log.h"
#include "run/session/session.h"

/* The most tokens that a sample may have, of the model that has such a limit. */
static int64_t longest_sample(const cse_session *session)
{
    static const char limit[] = "max_position_embeddings";
    for (int i = 0; i < session->network.model_count; i++) {
        const cse_settings *settings = cse_model_settings_view(session->network.models[i]);
        if (cse_setting_table_has(settings->table, limit) && cse_settings_has(settings, limit))
            return cse_settings_integer(settings, limit);
    }
    return 0;
}

/* A configuration can be validated where its data are not: the samples are taken to be as the
 * settings say, and the user is told. Where they do not say enough, the missing file is the error.
 */
static cse_status describe(const cse_session *session, const cse_settings *input,
                           cse_dataloader **loader)
{
    const cse_error missing = *cse_error_last();
    const char *why = cse_arena_string(session->arena, missing.message);
    const cse_unseen_data known = { .longest = longest_sample(session) };
    cse_status status = cse_dataloader_describe(input, session->configuration.seed, &known, loader);
    if (status == CSE_USAGE)
        return cse_fail(CSE_NO_INPUT, "%s", why);
    CSE_TRY(status);
    const cse_error warning = {
        .message = cse_arena_printf(session->arena,
                                    "the data were not looked at, samples are taken to be as the "
                                    "settings say: %s",
                                    why),
    };
    if (session->hooks.warn != NULL)
        session->hooks.warn(session->hooks.self, &warning);
    else
        cse_log_line(CSE_LOG_WARNING, "%s", warning.message);
    return CSE_OK;
}

/* The files of another host are taken for those of the run. */
static cse_status open_elsewhere(cse_session *session, const cse_settings *input,
                                 cse_dataloader **loader)
{
    const cse_session_hooks *hooks = &session->hooks;
    char *text = NULL;
    CSE_TRY(hooks->ask_data(hooks->self, input, &text));
    cse_status status = cse_data_description_open(text, input, session->configuration.seed,
                                                  &session->data.identity, loader);
    free(text);
    return status;
}

static void tell(const cse_session *session, const cse_settings *input,
                 const cse_dataloader *loader)
{
    const cse_session_hooks *hooks = &session->hooks;
    cse_text text = { 0 };
    if (hooks->tell_data == NULL)
        return;
    cse_data_description_print(loader, &session->data.identity, &text);
    hooks->tell_data(hooks->self, input, text.data);
    cse_text_clear(&text);
}

cse_status cse_session_open_data(cse_session *session, const cse_settings *input,
                                 cse_dataloader **loader)
{
    const cse_configuration *c = &session->configuration;
    char *cache = NULL;
    if (session->hooks.ask_data != NULL)
        return open_elsewhere(session, input, loader);
    if (session->observer.run_directory != NULL)
        cache = cse_arena_printf(session->arena, "%s/data_identity.txt", c->model_dir);
    const cse_data_watch watch = { .identity = &session->data.identity, .cache = cache };
    cse_status status = cse_data_open(input, c->seed, &watch, loader);
    if (status == CSE_OK)
        tell(session, input, *loader);
    return status == CSE_NO_INPUT && c->validate_only ? describe(session, input, loader) : status;
}

void cse_session_keep_names(const cse_session *session, const cse_dataloader *loader)
{
    const cse_input *input = cse_dataloader_input_view(loader);
    const char *model_dir = session->configuration.model_dir;
    char folder[CSE_SOURCE_BYTES];
    if (session->observer.run_directory == NULL)
        return;
    if (cse_class_names_write(model_dir, input) != CSE_OK)
        cse_log_line(CSE_LOG_WARNING, "%s: `predict` will show numbers of classes",
                     cse_error_message());
    if (cse_feature_names_write(model_dir, input) != CSE_OK)
        cse_log_line(CSE_LOG_WARNING, "%s: `predict` will take columns in their order",
                     cse_error_message());
    if (cse_tokenizer_beside(input->source, folder, sizeof folder) &&
        cse_tokenizer_copy(folder, model_dir) != CSE_OK)
        cse_log_line(CSE_LOG_WARNING, "%s: `generate` will ask for --tokenizer",
                     cse_error_message());
}

const char *cse_session_data_text(cse_session *session)
{
    cse_text text = { 0 };
    if (session->data.text == NULL) {
        cse_data_identity_print(&session->data.identity, &text);
        session->data.text = cse_arena_string(session->arena, text.data);
        cse_text_clear(&text);
    }
    return session->data.text;
}

void cse_session_take_data(cse_session *session, const cse_checkpoint *checkpoint, const char *path)
{
    cse_session_clear_loaded(session);
    if (checkpoint->data == NULL) {
        if (session->plan.resumes && checkpoint->global_step > 0)
            cse_log_line(CSE_LOG_INFO, "checkpoint %s does not say which data it was trained on",
                         path);
    } else if (cse_data_identity_parse(checkpoint->data, &session->data.loaded.data)) {
        session->data.loaded.path = cse_arena_string(session->arena, path);
        session->data.loaded.trained = checkpoint->links != NULL;
    }
}

static bool has_role(const cse_data_identity *identity, bool training)
{
    bool found = false;
    for (int i = 0; i < identity->count; i++)
        found = found || identity->files[i].training == training;
    return found;
}

/* Whether both sides say something of their data. What was trained says it, also of no file. */
static bool are_known(const cse_session *session, bool training)
{
    const bool before = has_role(&session->data.loaded.data, training),
               now = has_role(&session->data.identity, training);
    return training && session->data.loaded.trained ? before || now : before && now;
}

/* Validation data change no weights: other ones are told, also when a run is resumed. */
static cse_status compare(const cse_session *session, bool training)
{
    const char *path = session->data.loaded.path;
    cse_text what = { 0 };
    cse_status status = CSE_OK;
    if (!cse_data_identity_differs(&session->data.loaded.data, &session->data.identity, training,
                                   &what))
        return CSE_OK;
    if (training && session->plan.resumes && !session->plan.new_data)
        status = cse_fail(CSE_DATA,
                          "checkpoint %s was trained on other data: %s; put the file back, or go "
                          "on with the new data: --new_data (checkpoint: {new_data: true})",
                          path, what.data);
    else
        cse_log_line(CSE_LOG_WARNING, "checkpoint %s was written with other %s data: %s", path,
                     training ? "training" : "validation", what.data);
    cse_text_clear(&what);
    return status;
}

cse_status cse_session_settle_data(cse_session *session, bool training)
{
    for (int i = 0; i < session->data.identity.count; i++)
        if (training && session->data.identity.files[i].opened)
            session->data.identity.files[i].training = true;
    session->data.text = NULL;
    if (session->data.loaded.path == NULL || session->data.loaded.compared[training] ||
        !are_known(session, training))
        return CSE_OK;
    session->data.loaded.compared[training] = true;
    return compare(session, training);
}

void cse_session_clear_loaded(cse_session *session)
{
    cse_data_identity_clear(&session->data.loaded.data);
    session->data.loaded.path = NULL;
    session->data.loaded.trained = false;
    session->data.loaded.compared[false] = session->data.loaded.compared[true] = false;
}

void cse_session_clear_data(cse_session *session)
{
    cse_session_clear_loaded(session);
    cse_data_identity_clear(&session->data.identity);
}
