/* A folder becomes the configuration that `checkpoint convert --print_model` prints of it, with the
 * head base in the place of whatever head it has. */
#include "cli/models/embedding.h"

#include <stdlib.h>
#include <string.h>

#include "cli/arguments/option_values.h"
#include "dataloader/input.h"
#include "engine/base/arena.h"
#include "engine/base/config/settings.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "engine/formats/weights/folder.h"
#include "engine/formats/weights/map.h"
#include "engine/formats/weights/open.h"
#include "engine/formats/weights/sentence_folder.h"

static const char model_name[] = "text_encoder";
static const cse_place of_arguments = { "arguments", 0, 0 };

/* A setting, whatever it was before. */
static cse_yaml_node *with(cse_arena *arena, const cse_yaml_node *settings, const char *name,
                           const char *value)
{
    cse_yaml_node *changed = cse_yaml_mapping_new(arena, settings->place);
    for (int i = 0; i < settings->count; i++)
        if (strcmp(settings->keys[i].text, name) != 0)
            cse_yaml_put(arena, changed, settings->keys[i], settings->children[i]);
    cse_yaml_put(arena, changed, (cse_yaml_key){ name, of_arguments },
                 cse_yaml_scalar_new(arena, of_arguments, value));
    return changed;
}

static bool says(const cse_yaml_node *settings, const char *name)
{
    const cse_yaml_node *found = cse_yaml_find(settings, name);
    return found != NULL && !cse_yaml_is_null(found);
}

/* The pooler has no part in vectors of texts. */
static cse_status model_of(cse_arena *arena, const char *folder, const char *pooling,
                           cse_yaml_node *settings, cse_yaml_node **made)
{
    *made = with(arena, with(arena, settings, "head", "base"), "pooler", "false");
    if (pooling != NULL && says(settings, "pooling"))
        return cse_fail(CSE_USAGE, "--pooling: %s says its own, in modules.json", folder);
    if (pooling != NULL)
        *made = with(arena, *made, "pooling", pooling);
    return says(*made, "pooling")
               ? CSE_OK
               : cse_fail(CSE_USAGE,
                          "%s: there is no modules.json that says how a text gets one vector; give "
                          "--pooling mean, cls, max or mean_sqrt_len_tokens",
                          folder);
}

static cse_status write_configuration(cse_arena *arena, const char *folder, const char *pooling,
                                      const char *described, cse_text *text)
{
    const char *name = NULL;
    cse_yaml_node *settings = NULL, *made = NULL;
    if (described == NULL)
        return cse_fail(CSE_DATA, "%s: there is no config.json that says what model it is", folder);
    CSE_TRY(cse_map_model_section(arena, described, &name, &settings));
    CSE_TRY(model_of(arena, folder, pooling, settings, &made));
    cse_yaml_print_block(cse_map_configuration(arena, model_name, made), text);
    cse_text_add(text, "  fit:\n    ckpt_path: ");
    cse_json_add_string(text, folder);
    cse_text_add(text, "\n");
    return CSE_OK;
}

/* What a tokenizer's files allow, and the model as well. */
static cse_status read_length(const char *folder, const cse_settings *model, int64_t *length)
{
    const int64_t rows = cse_settings_integer(model, "max_position_embeddings");
    const int64_t most = cse_settings_bool(model, "mask_padding_in_positional_embed")
                             ? rows - cse_settings_integer(model, "pad_token_id") - 1
                             : rows;
    CSE_TRY(cse_sentence_folder_length(folder, length));
    *length = *length == 0 || *length > most ? most : *length;
    return CSE_OK;
}

static cse_status prepare_folder(const cse_command_line *line, const char *folder,
                                 cse_embedding_texts *texts, cse_prepared_job *job)
{
    static const char *const poolings[] = { "mean", "cls", "max", "mean_sqrt_len_tokens", NULL };
    const char *pooling = NULL;
    cse_weights *weights = NULL;
    cse_text text = { 0 };
    CSE_TRY(cse_option_word(line, "pooling", poolings, &pooling));
    CSE_TRY(cse_weights_open_ours(folder, &(cse_weights_options){ .model = model_name }, &weights));
    cse_status status =
        write_configuration(weights->arena, folder, pooling, weights->config, &text);
    cse_weights_close(&weights);
    if (status == CSE_OK)
        status = cse_job_prepare_text(line, text.data, CSE_JOB_INFER, job);
    cse_text_clear(&text);
    CSE_TRY(status);
    texts->vocabulary = texts->vocabulary != NULL ? texts->vocabulary : folder;
    return texts->length > 0 ? CSE_OK
                             : read_length(folder, job->settings.model->settings, &texts->length);
}

cse_status cse_embedding_prepare(const cse_command_line *line, cse_embedding_texts *texts,
                                 cse_prepared_job *job)
{
    const char *named = line->arguments[0];
    cse_command_line configuration = *line;
    configuration.argument_count = 1;
    if (cse_weights_is_folder(named))
        return prepare_folder(&configuration, named, texts, job);
    if (cse_option_value(line, "pooling") != NULL)
        return cse_fail(CSE_USAGE, "--pooling is of a folder; the configuration says its own "
                                   "(trainer.init.model.pooling)");
    return cse_job_prepare(&configuration, CSE_JOB_INFER, job);
}

cse_status cse_embedding_check(const cse_job_settings *settings)
{
    const cse_config_plugin *model = settings->model;
    const cse_settings *s = model->settings;
    if (strcmp(model->name, model_name) == 0 && strcmp(cse_settings_text(s, "head"), "base") == 0 &&
        cse_settings_has(s, "pooling"))
        return CSE_OK;
    return cse_fail(CSE_CONFIG,
                    "embed: the model %s makes no vectors of texts; accepted: text_encoder with "
                    "head: base and pooling",
                    model->name);
}

/* ---- the texts ---- */

static void put(cse_arena *arena, cse_yaml_node *node, const char *name, const char *value)
{
    cse_yaml_put(arena, node, (cse_yaml_key){ name, of_arguments },
                 cse_yaml_scalar_new(arena, of_arguments, value));
}

static void put_list(cse_arena *arena, cse_yaml_node *node, const char *name,
                     const char *const *values, int count)
{
    cse_yaml_node *list = cse_yaml_sequence_new(arena, of_arguments);
    for (int i = 0; i < count; i++)
        cse_yaml_append(arena, list, cse_yaml_scalar_new(arena, of_arguments, values[i]));
    cse_yaml_put(arena, node, (cse_yaml_key){ name, of_arguments }, list);
}

/* The configuration's data loader, where it cuts texts into words of a vocabulary; else NULL. */
static const cse_settings *known_loader(const cse_job_settings *settings)
{
    const cse_config_plugin *loader =
        settings->train_dataloader != NULL ? settings->train_dataloader : settings->val_dataloader;
    const cse_input_descriptor *descriptor = loader != NULL ? loader->descriptor : NULL;
    return descriptor != NULL && cse_setting_table_has(descriptor->settings, "vocabulary")
               ? loader->settings
               : NULL;
}

cse_status cse_embedding_loader(const cse_embedding_texts *texts, const cse_job_settings *settings,
                                const cse_settings **loader)
{
    const cse_settings *known = known_loader(settings);
    cse_arena *arena = settings->model->settings->arena;
    const char *vocabulary = texts->vocabulary, *column = texts->column;
    int64_t length = texts->length;
    if (vocabulary == NULL && known != NULL)
        vocabulary = cse_settings_text(known, "vocabulary");
    if (vocabulary == NULL)
        return cse_fail(CSE_USAGE, "embed: the configuration has no data loader with a vocabulary; "
                                   "give --vocabulary PATH");
    if (length == 0)
        length = known != NULL ? cse_settings_integer(known, "max_sequence_length") : 128;
    column = column != NULL ? column : "text";
    cse_yaml_node *node = cse_yaml_mapping_new(arena, of_arguments);
    put(arena, node, "data_processor", "text_pairs");
    put_list(arena, node, "path", texts->paths, texts->path_count);
    put_list(arena, node, "texts", &column, 1);
    put(arena, node, "vocabulary", vocabulary);
    if (known != NULL && vocabulary != texts->vocabulary && cse_settings_has(known, "lower"))
        put(arena, node, "lower", cse_settings_bool(known, "lower") ? "true" : "false");
    put(arena, node, "max_sequence_length", cse_arena_printf(arena, "%lld", (long long)length));
    put(arena, node, "batch_size", "1");
    cse_settings *read = NULL;
    CSE_TRY(cse_dataloader_settings_read(arena, node, &read));
    *loader = read;
    return CSE_OK;
}
